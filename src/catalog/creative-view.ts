import type { Creative } from './types.ts';

/**
 * Builds the creative object of docs/reference/fetch-offers.md#creative-object, with the fields that the webhook adds.
 */
export function buildCreativeView(creative: Creative, publicUrl: string) {
  return {
    id: creative.id,
    url: creative.url ?? `${publicUrl}/images/${creative.id}.${creative.type}`,
    height: creative.height,
    width: creative.width,
    type: creative.type,
    is_primary: creative.isPrimary,
    aspect_ratio: Math.round((creative.width / creative.height) * 10_000) / 10_000,
    creative_type: creative.creativeType,
    user_id: creative.userId,
  };
}
