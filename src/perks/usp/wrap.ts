import type { Caller } from '../../accounts/caller.ts';
import { type PerkEvent, perkEvent } from '../../event-log/tracked-event.ts';
import { transaction } from '../../platform/db/pool.ts';
import type { Trace } from '../../platform/tracing/tracing.ts';
import { insertEvents } from '../../tracking/insert-events.ts';
import type { TrackingDeps } from '../../tracking/ports.ts';
import { enqueue, type OutboxEvent } from '../../webhooks/outbox.ts';
import { buildUspPayload } from '../usp-payload.ts';
import { uspSelection } from '../usp-selection.ts';
import { markWrapped, type UspSession } from '../usp-sessions.ts';

export type Wrap = { session: UspSession; caller: Caller; nowMs: number; trace: Trace | null };

/**
 * Wraps sessions, stores their selections for the reports and enqueues their webhooks, all in one transaction.
 * @returns for each, the wrapped session; null where another call was first
 */
export async function wrapBatch(
  deps: Pick<TrackingDeps, 'pool' | 'tokens' | 'config' | 'eventMeter'>,
  items: readonly Wrap[],
): Promise<(UspSession | null)[]> {
  const firsts = [...new Map(items.toReversed().map((item) => [item.session.id, item])).values()];
  const selections = await transaction(deps.pool, async (executor) => {
    const wrapped = await markWrapped(executor, firsts);
    const done = firsts.flatMap((item) => {
      const selected = wrapped.get(item.session.id);
      return selected === undefined ? [] : [{ selected, ...item }];
    });
    const events = done.flatMap(selectionEvents);
    if (events.length > 0) await insertEvents(executor, events);
    executor.onCommit(() => deps.eventMeter.recorded('selection', null, events.length));
    await enqueue(
      executor,
      done.map((item) => toWebhook(deps, item)),
    );
    return wrapped;
  });
  return items.map((item) => {
    const selected = firsts.includes(item) ? selections.get(item.session.id) : undefined;
    return selected === undefined ? null : { ...item.session, selected, wrappedAt: new Date(item.nowMs) };
  });
}

type Wrapped = Wrap & { selected: readonly number[] };

function toWebhook(
  { tokens, config }: Pick<TrackingDeps, 'tokens' | 'config'>,
  { session, caller: { publisher, snapshot }, selected, nowMs, trace }: Wrapped,
): OutboxEvent {
  const { id: sessionId, publisherId, pubUserId, dev } = session;
  const context = { publisher, offers: snapshot.offers, tokens, publicUrl: config.publicUrl };
  const payload = (): Buffer => buildUspPayload(session, selected, context);
  const traceparent = trace?.traceparent ?? null;
  return { publisherId, event: uspSelection.name, sessionId, pubUserId, dev, payload, nowMs, traceparent };
}

/** The events of the selected perks, for the reports. */
function selectionEvents({ session, selected, nowMs }: Wrapped): PerkEvent[] {
  const { id: sessionId, publisherId, offerIds, campaignIds, dev } = session;
  if (dev) return [];
  return campaignIds.flatMap((campaignId, index) => {
    const offerId = offerIds[index] as number;
    const claims = { publisherId, sessionId, offerId, campaignId, position: index + 1, dev };
    return selected.includes(campaignId) ? [perkEvent('selection', claims, nowMs)] : [];
  });
}
