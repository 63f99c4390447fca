/** Content types in which images can be stored and served. */
export const contentTypes = {
  avif: 'image/avif',
  webp: 'image/webp',
  png: 'image/png',
  jpg: 'image/jpeg',
  gif: 'image/gif',
} as const;

export type ImageType = keyof typeof contentTypes;

export const isImageType = (text: string): text is ImageType => Object.hasOwn(contentTypes, text);

/**
 * Chooses the image type of a response:
 * - AVIF or WebP if `Accept` lists it, whichever has the higher weight. AVIF is preferred if the weights are equal.
 * - Otherwise the original type, unless the header excludes it.
 * - If the original type is excluded (wildcards are taken into account), PNG or JPEG if listed.
 * - If no type is acceptable, the original type.
 * @param animated whether the image is animated; animations are never converted to AVIF, PNG or JPEG, which would show
 * a still image
 * @param betterTypes types to prefer over the original type, in ascending order of preference
 */
export function chooseType(
  accept: string | undefined,
  original: ImageType,
  animated: boolean,
  betterTypes: readonly ImageType[] = ['webp', 'avif'],
): ImageType {
  if (accept === undefined) return original;
  const weights = parseAccept(accept);
  const weightOf = (type: ImageType): number => weights.get(contentTypes[type]) ?? 0;
  const ofOriginal = weights.get(contentTypes[original]) ?? weights.get('image/*') ?? weights.get('*/*') ?? 0;
  const originalIsNamed = weights.has(contentTypes[original]);
  let best: ImageType = original;
  let weight = originalIsNamed ? weightOf(original) : 0;
  for (const type of animated ? (['webp'] as const) : betterTypes) {
    if (weightOf(type) <= 0 || weightOf(type) < weight) continue;
    best = type;
    weight = weightOf(type);
  }
  if (best !== original || ofOriginal > 0 || animated) return best;
  return (['png', 'jpg'] as const).find((type) => weightOf(type) > 0) ?? original;
}

/** Maximum length of the `Accept` header, in characters. */
const maxAcceptLength = 2048;

/** Parses the weight of each media range. A malformed weight is treated as 0. */
function parseAccept(accept: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const part of accept.slice(0, maxAcceptLength).toLowerCase().split(',')) {
    const [range = '', ...parameters] = part.split(';').map((piece) => piece.trim());
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    if (range !== '')
      weights.set(
        range,
        quality === undefined ? 1 : /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(quality) ? Number(quality) : 0,
      );
  }
  return weights;
}
