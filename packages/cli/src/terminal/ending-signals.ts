/** SIGTERM and SIGINT: the first one starts the drain, the second one stops the process. */
export interface EndingSignals {
  readonly first: Promise<NodeJS.Signals>;
  readonly second: Promise<NodeJS.Signals>;
  /** Removes the listeners. */
  stop(): void;
}

export function endingSignals(): EndingSignals {
  const resolvers: ((signal: NodeJS.Signals) => void)[] = [];
  const next = () =>
    new Promise<NodeJS.Signals>((resolve) => {
      resolvers.push(resolve);
    });
  const [first, second] = [next(), next()];
  const onSignal = (signal: NodeJS.Signals) => resolvers.shift()?.(signal);
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
