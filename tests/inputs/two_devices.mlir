// A product on device b between two on device a: one transfer there and one back.
func.func @relay(%x: tensor<64x32xf32> {iree.abi.affinity = #hal.device.promise<@a>}, %w: tensor<32x32xf32> {iree.abi.affinity = #hal.device.promise<@b>}, %zero: tensor<64x32xf32> {iree.abi.affinity = #hal.device.promise<@a>}) -> (tensor<64x32xf32> {iree.abi.affinity = #hal.device.promise<@a>}) {
  %sent = flow.tensor.transfer %x : tensor<64x32xf32> to #hal.device.promise<@b>
  %acc = flow.tensor.transfer %zero : tensor<64x32xf32> to #hal.device.promise<@b>
  %y = linalg.matmul ins(%sent, %w : tensor<64x32xf32>, tensor<32x32xf32>) outs(%acc : tensor<64x32xf32>) -> tensor<64x32xf32>
  %back = flow.tensor.transfer %y : tensor<64x32xf32> to #hal.device.promise<@a>
  return %back : tensor<64x32xf32>
}
