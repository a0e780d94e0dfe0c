"""tilewire: kernels over tiles that compute and communicate.

`import tilewire as tw`: `@tw.kernel` makes a kernel of a Python function; `tw.load`, `tw.sum`, …
are what its body may call; `tw.init` and `tw.spawn` make the world that it runs in.
"""

import site as _site

from tilewire import language as _language
from tilewire._tilewire import DType as DType
from tilewire._tilewire import Target as Target
from tilewire._tilewire import __version__ as __version__
from tilewire._tilewire import set_site_packages as _set_site_packages
from tilewire.communicator import Communicator as Communicator
from tilewire.errors import BackendError as BackendError
from tilewire.errors import DeviceAssertionError as DeviceAssertionError
from tilewire.errors import Error as Error
from tilewire.errors import HangError as HangError
from tilewire.errors import InternalError as InternalError
from tilewire.errors import UserError as UserError
from tilewire.frontend.functions import function as function
from tilewire.init import init as init
from tilewire.kernel import Kernel as Kernel
from tilewire.kernel import auto as auto
from tilewire.kernel import kernel as kernel
from tilewire.lane import Lane as Lane
from tilewire.objects import Channel as Channel
from tilewire.objects import Flag as Flag
from tilewire.objects import Semaphore as Semaphore
from tilewire.precompile import precompile as precompile
from tilewire.spawn import spawn as spawn
from tilewire.window import Window as Window

globals().update(_language.NAMES)
_set_site_packages([*_site.getsitepackages(), _site.getusersitepackages()])
