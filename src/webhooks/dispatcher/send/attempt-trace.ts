import type { Span, Tracing } from '../../../platform/tracing/tracing.ts';
import type { Claimed } from '../claim/claim.ts';
import type { Settlement } from '../settle/settle.ts';

/** Begins the attempt in the trace of what caused the delivery, with the time since it was due; null: no trace. */
export function startAttempt(tracing: Tracing | undefined, { traceparent, event, lagMs }: Claimed): Span | null {
  if (traceparent === null || tracing === undefined) return null;
  const span = tracing.start(`webhook ${event}`, 'client', traceparent);
  const nowMs = performance.now();
  span?.child('claim', nowMs - Math.max(0, lagMs), nowMs);
  return span;
}

/** Attributes: of the URL only the host, for the rest may name users. */
export function endAttempt(span: Span, { claimed, attempts, outcome, status, errorClass }: Settlement): void {
  const { deliveryId, endpointId, event, method, url } = claimed;
  span.end(
    {
      'http.request.method': method,
      'server.address': URL.canParse(url) ? new URL(url).hostname : '',
      'perkwire.delivery_id': deliveryId,
      'perkwire.endpoint_id': endpointId,
      'perkwire.event': event,
      'perkwire.attempts': attempts,
      'perkwire.outcome': outcome,
      ...(status === null ? {} : { 'http.response.status_code': status }),
      ...(errorClass === null ? {} : { 'error.type': errorClass }),
    },
    outcome === 'delivered' ? null : (errorClass ?? outcome),
  );
}
