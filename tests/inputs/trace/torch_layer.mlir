// x * weight: a function of PyTorch's dialect, whose module has no declaration of its types.
func.func @main(%x: !torch.vtensor<[?,64],f32>, %weight: !torch.vtensor<[64,8],f32>, %mask: !torch.vtensor<[8],i1>) -> (!torch.vtensor<[?,8],f32>, !torch.vtensor<[8],i1>) {
  %0 = torch.aten.mm %x, %weight : !torch.vtensor<[?,64],f32>, !torch.vtensor<[64,8],f32> -> !torch.vtensor<[?,8],f32>
  %1 = torch.aten.logical_not %mask : !torch.vtensor<[8],i1> -> !torch.vtensor<[8],i1>
  return %0, %1 : !torch.vtensor<[?,8],f32>, !torch.vtensor<[8],i1>
}
