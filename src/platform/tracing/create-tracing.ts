import type { TracingSetting } from '../../config.ts';
import { noTracing, type Tracing } from './tracing.ts';

/** Creates the tracing API. OpenTelemetry is loaded only if tracing is enabled. `onError` receives export errors. */
export async function createTracing(setting: TracingSetting | null, onError: (err: Error) => void): Promise<Tracing> {
  if (setting === null) return noTracing;
  const { startOpenTelemetry } = await import('./open-telemetry.ts');
  return startOpenTelemetry(setting, onError);
}
