import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { mix, normalQuantile, uniform } from '../random.ts';

/** Part of the standard normal distribution from `floor` up to the layer above. */
export type Layer = {
  /** Depth from 0, the highest layer. */
  depth: number;
  /** Logarithm of the probability that a draw in no higher layer is not in this one either. */
  logOfMiss: number;
  floor: number;
  /** Whether it is the lowest layer, which contains every draw that is in no higher one. */
  isLowest: boolean;
  /** Quantiles of the layer; a draw picks one of them. */
  quantiles: Float64Array;
};

const quantileBits = 12;

/** Number of candidates from which on there are several layers. */
const minLayered = 256;

/** Expected number of draws in the highest of several layers: from this to twice as many. */
const topDraws = 16;

/** Ratio of a layer's probability to that of all layers above it. */
const growth = 8;

const layersByShare = new Map<number, readonly Layer[]>();

/** Layers for a number of candidates, highest first. Empty if they are few and drawn from the whole distribution. */
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
 * @param above probability of all layers above; `below` includes this one
 */
const layerOf = (depth: number, above: number, below: number): Layer => ({
  depth,
  logOfMiss: Math.log1p((above - below) / (1 - above)),
  floor: -normalQuantile(below),
  isLowest: below === 1,
  // Computed from the upper end, where small probabilities are exact.
  quantiles: Float64Array.from({ length: 2 ** quantileBits }, (_, at) => {
    return -normalQuantile(above + ((below - above) * (at + 0.5)) / 2 ** quantileBits);
  }),
});

/** The whole distribution. */
export const wholeNormal = layerOf(0, 0, 1);

/** Draws from a layer. */
export const drawNormal = ({ quantiles }: Layer, seed: number, salt: number): number =>
  quantiles[mix(seed, salt) >>> (32 - quantileBits)] as number;

/** Draws the number of consecutive misses before a draw is in a layer, from a geometric distribution. */
export const drawMisses = ({ logOfMiss }: Layer, seed: number, salt: number): number =>
  Math.floor(Math.log(uniform(seed, salt) + 2 ** -33) / logOfMiss);
