import type { Registry } from 'prom-client';
import type { MetricsPage } from '../../platform/metrics/metrics.ts';
import { type Assignment, assignmentVariable, type Order, type Report } from './messages.ts';

/** Connection between a child process and its primary process. */
export type PrimaryLink = {
  assignment: Assignment;
  /** Registers a callback that runs once, when the primary or a signal asks this process to stop. */
  onStop: (stop: () => void) => void;
  /** Reports that this process is ready to serve requests. */
  ready: () => void;
  /** Metrics page for all processes, built by the primary. */
  metricsPage: MetricsPage;
  /** Sends the final metrics to the primary. Resolves when they have been sent. */
  leave: () => Promise<void>;
};

/** Returns the link to the primary, or null if this process was not started by a primary. */
export function primaryLink(target: NodeJS.Process): PrimaryLink | null {
  const { [assignmentVariable]: text } = target.env;
  if (text === undefined || target.send === undefined) return null;
  const pages = new Map<number, (text: string) => void>();
  let registry: Registry | null = null;
  let stop = (): void => {};
  let requestCount = 0;

  const report = (message: Report): Promise<void> =>
    new Promise((resolve) => {
      if (target.connected) target.send?.(message, undefined, {}, () => resolve());
      else resolve();
    });
  const sendSamples = async (id: number): Promise<void> =>
    report({ type: 'samples', id, samples: (await registry?.getMetricsAsJSON()) ?? [] });

  target.on('message', (order: Order) => {
    if (order.type === 'stop') stop();
    if (order.type === 'samples wanted') void sendSamples(order.id);
    if (order.type === 'page') pages.get(order.id)?.(order.text);
  });
  // Ignore these signals: a terminal sends them to the whole process group, and the primary decides when to stop.
  for (const signal of ['SIGINT', 'SIGHUP'] as const) target.on(signal, () => {});
  target.on('SIGTERM', () => stop());

  return {
    assignment: JSON.parse(text) as Assignment,
    onStop: (callback) => {
      stop = () => {
        stop = () => {};
        callback();
      };
    },
    ready: () => void report({ type: 'ready' }),
    metricsPage: (own) => {
      registry = own;
      return async () => {
        requestCount += 1;
        const id = requestCount;
        const page = new Promise<string>((resolve) => pages.set(id, resolve));
        await report({ type: 'page wanted', id });
        return page.finally(() => pages.delete(id));
      };
    },
    leave: () => sendSamples(0),
  };
}
