import { at, gradient, leaf, star } from './svg.ts';

/** Two leaves of a fern, left and right of its stem; 0 is the lowest pair. */
const frond = (i: number): string =>
  leaf(-2 + i * 2, 60 - i * 34, 62 - i * 9, 28, -62, '#fff', 'none') +
  leaf(-2 + i * 2, 60 - i * 34, 62 - i * 9, 28, 62, '#d5f5d0', 'none');

/** A bar of a sound meter, centred on y = 0. */
const bar = (height: number, i: number): string =>
  `<rect x="${-80 + i * 36}" y="${-height / 2}" width="18" height="${height}" rx="9"/>`;

/** White emblem of an advertiser, drawn around (0, 0) within a radius of 80. */
const GLYPHS = {
  basilwick: `${leaf(-4, 74, 150, 76, -26, '#fff', '#2f9e5b')}${leaf(8, 74, 118, 62, 34, '#d9f7c9', '#2f9e5b')}`,
  emberlark: `<g transform="rotate(32)"><ellipse rx="54" ry="78" fill="#fff"/>
    <path d="M0-78q-40 44 0 78t0 78" stroke="#b3471d" stroke-width="15" fill="none"/></g>`,
  tidewander: `<circle cy="-14" r="54" fill="#ffe9a8"/>
    <path d="M-144 24q18-20 36 0t36 0t36 0t36 0t36 0t36 0t36 0t36 0V130H-144Z" fill="#0d6f94"/>
    <g fill="none" stroke="#fff" stroke-width="14" stroke-linecap="round">
    <path d="M-144 24q18-20 36 0t36 0t36 0t36 0t36 0t36 0t36 0t36 0"/>
    <path d="M-54 66q18-20 36 0t36 0t36 0" opacity=".75"/></g>`,
  quillmoor: `<g transform="rotate(36)">
    <path d="M0 84C-6 40-42 10-36-40C-33-68-14-84 0-92C14-84 33-68 36-40C42 10 6 40 0 84Z" fill="#fff"/>
    <path d="M0 92V-56" stroke="#5a3fa0" stroke-width="8" stroke-linecap="round"/>
    <path d="M0 0l26-24M0 28l24-22M0-26l22-20M0 6l-24-22M0-22l-20-20" stroke="#5a3fa0" stroke-width="5"
    stroke-linecap="round"/></g>`,
  fernhollow: `<path d="M0 84Q-8 0 8-84" stroke="#fff" stroke-width="9" fill="none" stroke-linecap="round"/>
    ${[0, 1, 2, 3].map(frond).join('')}`,
  pawlington: `<g fill="#fff"><path d="M0-6C32-6 60 34 52 58C44 78 20 66 0 66C-20 66-44 78-52 58C-60 34-32-6 0-6Z"/>
    <ellipse cx="-62" cy="-8" rx="18" ry="25" transform="rotate(-22 -62 -8)"/>
    <ellipse cx="62" cy="-8" rx="18" ry="25" transform="rotate(22 62 -8)"/>
    <ellipse cx="-26" cy="-48" rx="19" ry="28" transform="rotate(-8 -26 -48)"/>
    <ellipse cx="26" cy="-48" rx="19" ry="28" transform="rotate(8 26 -48)"/></g>`,
  striderow: `<g fill="none" stroke-width="25" stroke-linecap="round" stroke-linejoin="round">
    <path d="M-58-58L-8 0L-58 58" stroke="#fff" opacity=".55"/><path d="M8-58L58 0L8 58" stroke="#fff"/></g>`,
  glimmerleaf: `<path d="M0-86Q68 6 44 46Q24 78 0 78Q-24 78-44 46Q-68 6 0-86Z" fill="#fff"/>
    ${leaf(0, 60, 92, 46, 0, '#e98a8f')}`,
  brightbarrow: `<circle r="38" fill="#fff"/><g stroke="#fff" stroke-width="15" stroke-linecap="round">
    ${[0, 45, 90, 135, 180, 225, 270, 315].map((a) => `<path d="M0-60v-20" transform="rotate(${a})"/>`).join('')}</g>
    <path d="M8-26L-18 6H-2L-8 28L18-6H2Z" fill="#f08a24"/>`,
  hollowtune: `<g fill="#fff">${[30, 74, 132, 92, 50].map(bar).join('')}</g>`,
  kitewhistle: `<g transform="rotate(18) translate(0 -10)"><path d="M0-78L58-10L0 66L-58-10Z" fill="#fff"/>
    <path d="M0-78L58-10H0ZM0 66L-58-10H0Z" fill="#ffd166"/>
    <path d="M0 66q-18 14-2 24t0 22" stroke="#fff" stroke-width="8" fill="none" stroke-linecap="round"/></g>`,
  pennyfennel: `<circle cy="14" r="62" fill="#fff"/>
    <circle cy="14" r="46" fill="none" stroke="#17917f" stroke-width="7"/>${star(0, 14, 26, '#17917f')}
    ${leaf(2, -44, 46, 30, -48, '#c8f5d8', 'none')}${leaf(2, -44, 50, 32, 44, '#fff', 'none')}`,
} satisfies Record<string, string>;

export type Advertiser = keyof typeof GLYPHS;

/** Gradient of each advertiser, light to dark. */
export const COLOURS: Record<Advertiser, readonly [from: string, to: string]> = {
  basilwick: ['#8fd14f', '#1f9d63'],
  emberlark: ['#f6a04d', '#b3411c'],
  tidewander: ['#4fd1d9', '#1576a8'],
  quillmoor: ['#a98bf0', '#4c2f97'],
  fernhollow: ['#5ccf9a', '#14704f'],
  pawlington: ['#ffc24b', '#ee6c2d'],
  striderow: ['#ff7b8a', '#c51f5d'],
  glimmerleaf: ['#ffc3b5', '#e0707e'],
  brightbarrow: ['#ffd452', '#f28a1f'],
  hollowtune: ['#8f7bff', '#35249b'],
  kitewhistle: ['#6cc7ff', '#2d6fe0'],
  pennyfennel: ['#37d3b0', '#0d6f73'],
};

export const ADVERTISERS = Object.keys(GLYPHS) as Advertiser[];

/** Square icon of 256 × 256. */
export const icon = (advertiser: Advertiser): string => {
  const [from, to] = COLOURS[advertiser];
  const shine = '<circle cx="60" cy="40" r="150" fill="#fff" opacity=".1"/>';
  return `<svg xmlns="http://www.w3.org/2000/svg" width="256" height="256"><defs>${gradient('icon', from, to)}</defs>
    <rect width="256" height="256" fill="url(#icon)"/>${shine}${at(128, 128, GLYPHS[advertiser])}</svg>`;
};
