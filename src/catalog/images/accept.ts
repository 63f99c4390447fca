/** File types a picture can be stored and sent in. */
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
 * The type to answer with: AVIF or WebP where `Accept` names it, by its weight, AVIF first among equals; otherwise the
 * original's. Only a client whose header rules that out, wildcards included, gets PNG or JPEG instead if it names one.
 * What no type satisfies is answered with the original.
 * @param animated an animation is never answered as AVIF, PNG or JPEG, where it would stand still
 * @param betterTypes what is preferred to the original's type, the best last
 */
export function chooseType(
  accept: string | undefined,
  original: ImageType,
  animated: boolean,
  betterTypes: readonly ImageType[] = ['webp', 'avif'],
): ImageType {
  if (accept === undefined) return original;
  const weights = parseAccept(accept);
  const named = (type: ImageType): number => weights.get(contentTypes[type]) ?? 0;
  const ofOriginal = weights.get(contentTypes[original]) ?? weights.get('image/*') ?? weights.get('*/*') ?? 0;
  const originalIsNamed = weights.has(contentTypes[original]);
  let best: ImageType = original;
  let weight = originalIsNamed ? named(original) : 0;
  for (const type of animated ? (['webp'] as const) : betterTypes) {
    if (named(type) <= 0 || named(type) < weight) continue;
    best = type;
    weight = named(type);
  }
  if (best !== original || ofOriginal > 0 || animated) return best;
  return (['png', 'jpg'] as const).find((type) => named(type) > 0) ?? original;
}

/** Longest header that is read (characters). */
const maxAcceptLength = 2048;

/** Weight of each media range; a weight that cannot be read counts as none. */
function parseAccept(accept: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const part of accept.slice(0, maxAcceptLength).toLowerCase().split(',')) {
    const [range = '', ...parameters] = part.split(';').map((piece) => piece.trim());
    const given = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    if (range !== '')
      weights.set(range, given === undefined ? 1 : /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(given) ? Number(given) : 0);
  }
  return weights;
}
