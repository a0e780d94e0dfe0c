"""Diagnostics of semaphores, and of synchronisation objects where arrays belong."""

import tilewire as tw

GIVEN = {"sem": "semaphore[4]", "x": "window:f32[4]"}


def test_signal_to_a_slice(diagnose):
    def f(sem: tw.Semaphore, x: tw.Window):
        tw.signal(sem[:])  # error

    assert diagnose(f, **GIVEN)[0] == (
        "signal: goes to one semaphore, semaphore<[4]> has 1 dimensions left: index them"
    )


def test_no_signals(diagnose):
    def f(sem: tw.Semaphore, x: tw.Window):
        tw.wait(sem[0], 0)  # error

    assert diagnose(f, **GIVEN)[0] == "wait: n=0; it takes 1 to 2147483647 at a time"


def test_signals_that_are_no_integer(diagnose):
    def f(sem: tw.Semaphore, x: tw.Window):
        tw.signal(sem[0], 1.5)  # error

    assert diagnose(f, **GIVEN)[0] == "`tw.signal`: n must be an integer, found 1.5"


def test_timeout(diagnose):
    def f(sem: tw.Semaphore, x: tw.Window):
        tw.wait(sem[0], timeout=3)  # error

    assert diagnose(f, **GIVEN)[0] == (
        "`tw.wait`: timeout=None waits for however long it takes, leaving it out waits until "
        "TILEWIRE_TIMEOUT; found 3"
    )


def test_wait_on_a_window(diagnose):
    def f(sem: tw.Semaphore, x: tw.Window):
        tw.wait(x[0])  # error

    message, _ = diagnose(f, **GIVEN)
    assert message.startswith("`tw.wait`: takes a semaphore")
    assert message.endswith("found the view window<f32[]>")


def test_load_of_a_semaphore(diagnose):
    def f(sem: tw.Semaphore, x: tw.Window):
        tw.store(x[0], tw.load(sem[0]))  # error

    message, _ = diagnose(f, **GIVEN)
    assert "semaphore<[]>" in message


def test_store_to_a_semaphore(diagnose):
    def f(sem: tw.Semaphore, x: tw.Window):
        tw.store(sem[0], 1)  # error

    message, _ = diagnose(f, **GIVEN)
    assert "semaphore<[]>" in message


def test_a_team_that_ranks_are_not_counted_in(diagnose):
    def f(sem: tw.Semaphore, x: tw.Window):
        tw.signal(sem.at(0, team=tw.local)[0])  # error

    assert diagnose(f, **GIVEN)[0] == (
        "`at`: a rank is counted in the world, lsa or rail, found team='local'; this rank's own "
        "copy takes no `.at`"
    )
