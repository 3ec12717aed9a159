import grpc,sys
ch=grpc.insecure_channel('127.0.0.1:'+sys.argv[1])
try:
    print('health', ch.unary_unary('/grpc.health.v1.Health/Check')(b'',timeout=5))
except grpc.RpcError as e: print(e.code(), e.details())
