"""Matrix products fused with communication.

Each is an object made for the largest shape, which owns what its launches share, and is called with
arrays: NumPy's on the CPU, PyTorch's (or anything with DLPack) on GPUs. Their kernels are programs
in the tile language, in the file of each.
"""

from tilewire.ops.all_gather import AllGatherGemm as AllGatherGemm
from tilewire.ops.all_reduce import GemmAllReduce as GemmAllReduce
from tilewire.ops.arrays import share_of as share_of
from tilewire.ops.epilogue import HALF as HALF
from tilewire.ops.epilogue import Epilogue as Epilogue
from tilewire.ops.epilogue import alternate_halves as alternate_halves
from tilewire.ops.functions import all_gather_gemm as all_gather_gemm
from tilewire.ops.functions import gemm_all_reduce as gemm_all_reduce
from tilewire.ops.functions import gemm_reduce_scatter as gemm_reduce_scatter
from tilewire.ops.gated_mlp import GatedMlp as GatedMlp
from tilewire.ops.reduce_scatter import GemmReduceScatter as GemmReduceScatter
from tilewire.ops.tiling import Tiling as Tiling
