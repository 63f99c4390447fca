import type pg from 'pg';
import { v7 } from 'uuid';
import type { Publisher } from '../../catalog/types.ts';
import { AppError } from '../../platform/errors.ts';
import { readDeliveryId } from '../delivery-filter.ts';
import { findDelivery } from '../delivery-store.ts';
import { type EventTypes, requireEventType } from '../events.ts';
import type { Transformation, TransformationFailure } from './evaluators.ts';
import type { Transformer } from './transform.ts';

export type PreviewDeps = {
  pool: pg.Pool;
  transformer: Transformer;
  events: EventTypes;
  config: { publicUrl: string };
  now: () => number;
};

/** Event of a preview: a stored delivery, or the sample of an event type. */
export type PreviewSource = { deliveryId: string } | { event: string };

export type Preview = {
  event: string;
  payload: string;
  /** Body that would be sent, or null if the transformation fails. */
  body: string | null;
  bodyBytes: number;
  /** Headers that the transformation sets, including the content type. */
  headers: Record<string, string>;
  failure: TransformationFailure | null;
};

/**
 * Applies a transformation to an event without sending anything.
 * @throws AppError `delivery_not_found`, `delivery_erased` or `endpoint_not_found`
 */
export async function previewTransformation(
  deps: PreviewDeps,
  publisher: Publisher,
  transformation: Transformation | null,
  source: PreviewSource,
): Promise<Preview> {
  const input =
    'deliveryId' in source
      ? await storedEvent(deps, publisher, source.deliveryId)
      : sampleEvent(deps, publisher, source.event);
  const outcome =
    transformation === null
      ? { parts: { body: null, headers: {} } }
      : await deps.transformer.apply({ ...input, transformation, publisherId: publisher.id });
  const eventFields = { event: input.event, payload: input.payload.toString('utf8') };
  if ('failed' in outcome) return { ...eventFields, body: null, bodyBytes: 0, headers: {}, failure: outcome.failed };
  const body = outcome.parts.body ?? input.payload;
  const headers = { 'content-type': 'application/json', ...outcome.parts.headers };
  return { ...eventFields, body: body.toString('utf8'), bodyBytes: body.length, headers, failure: null };
}

type PreviewInput = { deliveryId: string; event: string; dev: boolean; payload: Buffer };

function sampleEvent({ events, config, now }: PreviewDeps, publisher: Publisher, event: string): PreviewInput {
  const nowMs = now();
  const { sample } = requireEventType(events, event);
  const payload = sample({ publisher, publicUrl: config.publicUrl, nowMs });
  return { deliveryId: v7({ msecs: nowMs }), event, dev: false, payload };
}

async function storedEvent({ pool, now }: PreviewDeps, publisher: Publisher, text: string): Promise<PreviewInput> {
  const id = readDeliveryId(text, now());
  const stored = id === null ? null : await findDelivery(pool, publisher.id, id);
  if (stored === null) throw new AppError('delivery_not_found');
  if (stored.erased_at !== null) throw new AppError('delivery_erased');
  return { deliveryId: stored.id, event: stored.event, dev: stored.dev, payload: stored.payload };
}
