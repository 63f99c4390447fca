import { notFound } from '../platform/errors.ts';
import { newUuid7 } from '../platform/lib/uuid7.ts';
import { type ComposeDeps, type Composed, composeMessage } from './compose.ts';
import { samplePerks } from './sample.ts';

type PreviewRequest = { publisherId: number; settings: { from_name: string }; language: string | null };

/**
 * Composes a message with sample perks. Its links do not affect any real user.
 * @throws AppError resource_not_found
 */
export function preview(
  deps: ComposeDeps,
  { publisherId, settings, language: requested }: PreviewRequest,
  nowMs: number,
): Composed & { language: string } {
  const publisher = deps.catalog.current().publishers.get(publisherId);
  if (publisher === undefined) throw notFound('publisher');
  const language = requested ?? publisher.language.unit ?? 'en';
  const about = { publisher, fromName: settings.from_name, language };
  const reader = { publisherId, addressKey: newUuid7(nowMs) };
  const perks = samplePerks(deps.config.publicUrl, nowMs);
  return { language, ...composeMessage(deps, { ...about, reader }, { kind: 'perks', perks }) };
}
