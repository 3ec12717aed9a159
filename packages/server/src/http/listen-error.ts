/** Why a port could not be opened, and what to do about it. */
export function listenError(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const where = `${host}:${port}`;
  return new Error(`Cannot listen on ${where}: ${reason(error, host, port)}`, { cause: error });
}

function reason(error: NodeJS.ErrnoException, host: string, port: number): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return 'the port is already in use. Stop the other process, or choose another port (0 for any free port).';
    case 'EACCES':
      return `permission denied${port > 0 && port < 1024 ? ': ports below 1024 are reserved' : ''}. Choose a port from 1024 up, or grant the permission.`;
    case 'EADDRNOTAVAIL':
      return `${host} is not an address of this machine. Use 127.0.0.1 for this machine only, or 0.0.0.0 for all networks.`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the name ${host} cannot be resolved. Use an address: 127.0.0.1 for this machine only, or 0.0.0.0 for all networks.`;
    default:
      return `${error.message}.`;
  }
}
