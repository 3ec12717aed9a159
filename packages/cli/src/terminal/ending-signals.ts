/** SIGTERM and SIGINT: the first one asks to finish, the second one to end. */
export interface EndingSignals {
  readonly first: Promise<NodeJS.Signals>;
  readonly second: Promise<NodeJS.Signals>;
  /** Listens no more. */
  stop(): void;
}

export function endingSignals(): EndingSignals {
  const tell: ((signal: NodeJS.Signals) => void)[] = [];
  const next = () =>
    new Promise<NodeJS.Signals>((resolve) => {
      tell.push(resolve);
    });
  const [first, second] = [next(), next()];
  const onSignal = (signal: NodeJS.Signals) => tell.shift()?.(signal);
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  return {
    first,
    second,
    stop() {
      process.off('SIGTERM', onSignal);
      process.off('SIGINT', onSignal);
    },
  };
}
