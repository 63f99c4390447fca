import type { TracingSetting } from '../../config.ts';
import { noTracing, type Tracing } from './tracing.ts';

/** Loads OpenTelemetry only where traces are switched on. `onError` gets what could not be sent. */
export async function createTracing(setting: TracingSetting | null, onError: (err: Error) => void): Promise<Tracing> {
  if (setting === null) return noTracing;
  const { startOpenTelemetry } = await import('./open-telemetry.ts');
  return startOpenTelemetry(setting, onError);
}
