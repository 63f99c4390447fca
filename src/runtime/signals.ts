const stopSignals = ['SIGTERM', 'SIGINT'] as const;

/** One Ctrl-C reaches a process started by npm twice. Only a signal that comes later means: exit at once. */
const repeatedSignalMs = 2000;

/** Calls `stop` at the first stop signal; a later one exits with code 1. */
export function onStopSignal(
  target: Pick<NodeJS.Process, 'on' | 'exit'>,
  stop: (signal: NodeJS.Signals) => void,
): void {
  let firstMs: number | null = null;
  for (const name of stopSignals) {
    target.on(name, (signal) => {
      if (firstMs === null) {
        firstMs = performance.now();
        stop(signal);
      } else if (performance.now() - firstMs > repeatedSignalMs) target.exit(1);
    });
  }
}

/** Signals that `onStopSignal` handles, for `closeWithGrace` to skip. */
export const handledSignals: ('SIGTERM' | 'SIGINT')[] = [...stopSignals];
