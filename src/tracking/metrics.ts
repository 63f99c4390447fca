import type { Registry } from 'prom-client';
import { type EventKind, eventKinds } from '../catalog/event-kinds.ts';
import { suspicions } from '../event-log/tracked-event.ts';
import { registerCounts } from '../platform/metrics/metrics.ts';

type CountedKind = EventKind | 'conversion';

/** Counts events by kind and by why they are suspicious; null: they are not. */
export type EventMeter = { recorded: (kind: CountedKind, suspicion: string | null, events?: number) => void };

export function createEventMeter(registry: Registry): EventMeter {
  const lineOf = registerCounts(registry, {
    name: 'perkwire_events_total',
    help: 'Events recorded, by kind and by why they are suspicious. Repeats of beacons count, those of others do not.',
    labelNames: ['kind', 'suspicion'],
  });
  for (const kind of [...Object.keys(eventKinds), 'conversion']) lineOf(kind, 'none');
  for (const suspicion of suspicions) lineOf('click', suspicion);
  return {
    recorded: (kind, suspicion, events = 1) => {
      lineOf(kind, suspicion ?? 'none').value += events;
    },
  };
}
