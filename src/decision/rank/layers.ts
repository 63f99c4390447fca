import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { mix, normalQuantile, uniform } from '../random.ts';

/** Part of the standard normal distribution, from `floor` up to the next higher layer. */
export type Layer = {
  /** Depth of the layer. The highest layer has depth 0. */
  depth: number;
  /** Logarithm of the probability that a draw is not in this layer, given that it is in no higher layer. */
  logOfMiss: number;
  floor: number;
  /** Whether this is the lowest layer, which contains every draw that is in no higher layer. */
  isLowest: boolean;
  /** Quantiles of the layer. A draw picks one of them at random, all with the same probability. */
  quantiles: Float64Array;
};

const quantileBits = 12;

/** Minimum number of candidates at which several layers are used. */
const minLayered = 256;

/**
 * Minimum expected number of draws in the highest layer, if there are several layers. The maximum is twice this number.
 */
const topDraws = 16;

/** Ratio of a layer's probability to the total probability of all higher layers. */
const growth = 8;

const layersByShare = new Map<number, readonly Layer[]>();

/**
 * Returns the layers for a number of candidates, highest first. Empty for a small number, for which all candidates are
 * drawn from the whole distribution.
 */
export function layersFor(count: number): readonly Layer[] {
  if (count < minLayered) return noLayers;
  const share = 2 ** (Math.clz32(count) - Math.clz32(topDraws));
  return getOrInsert(layersByShare, share, () => {
    const layers: Layer[] = [];
    for (let [above, below] = [0, share]; above < 1; [above, below] = [below, Math.min(1, below * growth)])
      layers.push(layerOf(layers.length, above, below));
    return layers;
  });
}

const noLayers: readonly Layer[] = [];

/**
 * Creates a layer.
 * @param above total probability of all higher layers
 * @param below total probability of this layer and all higher layers
 */
const layerOf = (depth: number, above: number, below: number): Layer => ({
  depth,
  logOfMiss: Math.log1p((above - below) / (1 - above)),
  floor: -normalQuantile(below),
  isLowest: below === 1,
  // Compute quantiles from the upper tail, where small probabilities are exact.
  quantiles: Float64Array.from({ length: 2 ** quantileBits }, (_, at) => {
    return -normalQuantile(above + ((below - above) * (at + 0.5)) / 2 ** quantileBits);
  }),
});

/** Single layer that covers the whole normal distribution. */
export const wholeNormal = layerOf(0, 0, 1);

/** Draws a number from a layer. */
export const drawNormal = ({ quantiles }: Layer, seed: number, salt: number): number =>
  quantiles[mix(seed, salt) >>> (32 - quantileBits)] as number;

/** Draws the number of consecutive candidates whose draws are not in a layer, from a geometric distribution. */
export const drawMisses = ({ logOfMiss }: Layer, seed: number, salt: number): number =>
  Math.floor(Math.log(uniform(seed, salt) + 2 ** -33) / logOfMiss);
