import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { mix, normalQuantile, uniform } from '../random.ts';

/** The part of the standard normal distribution from `floor` up to the layer above. */
export type Layer = {
  /** From 0, the highest. */
  depth: number;
  /** Logarithm of the probability of a draw that is in no layer above not to be in this one either. */
  logOfMiss: number;
  floor: number;
  /** Whether every draw that is in no layer above is in this one: none misses it. */
  isLowest: boolean;
  /** Its quantiles; a draw picks one of them. */
  quantiles: Float64Array;
};

const quantileBits = 12;

/** Candidates from which on there is more than one layer (count). */
const minLayered = 256;

/** Draws expected in the highest of several layers: this many to twice as many. */
const topDraws = 16;

/** How much more probable a layer is than all above it. */
const growth = 8;

const layersByShare = new Map<number, readonly Layer[]>();

/** The layers for draws of so many candidates, highest first; none: so few are drawn from the whole distribution. */
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

/** @param above probability of all layers above, `below` of these and this one */
const layerOf = (depth: number, above: number, below: number): Layer => ({
  depth,
  logOfMiss: Math.log1p((above - below) / (1 - above)),
  floor: -normalQuantile(below),
  isLowest: below === 1,
  // From above, where small probabilities are exact.
  quantiles: Float64Array.from({ length: 2 ** quantileBits }, (_, at) => {
    return -normalQuantile(above + ((below - above) * (at + 0.5)) / 2 ** quantileBits);
  }),
});

/** The whole distribution. */
export const wholeNormal = layerOf(0, 0, 1);

/** A draw from a layer. */
export const drawNormal = ({ quantiles }: Layer, seed: number, salt: number): number =>
  quantiles[mix(seed, salt) >>> (32 - quantileBits)] as number;

/** How many draws in a row miss a layer before one is in it: a geometric distribution. */
export const drawMisses = ({ logOfMiss }: Layer, seed: number, salt: number): number =>
  Math.floor(Math.log(uniform(seed, salt) + 2 ** -33) / logOfMiss);
