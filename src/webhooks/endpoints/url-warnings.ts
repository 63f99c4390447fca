import type { Warning } from '../../management/resource.ts';
import { warnOfMacros } from '../../platform/lib/misspelt-macros.ts';
import { selectionMacros } from '../dispatcher/send/request.ts';
import type { EventTypes } from '../events.ts';

/** Returns warnings about macros in an endpoint URL for which none of the endpoint's events has a value. */
export function warnOfUrl({ url, events }: { url: string; events: string[] }, types: EventTypes): Warning[] {
  const fields = events.map((event) => fieldsOf(event, types));
  const names = [...new Set(['payload', ...fields.flat()])];
  // The payload field `payload` contains the custom attributes of the fetch.
  const hasCustom = fields.some((list) => list.includes('payload'));
  return warnOfMacros('/url', url, { names, others: hasCustom ? 'custom' : 'emptied' });
}

function fieldsOf(event: string, types: EventTypes): readonly string[] {
  if (event === 'usp.selection') return selectionMacros;
  const properties: unknown = types.get(event)?.payload.properties;
  return typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
}
