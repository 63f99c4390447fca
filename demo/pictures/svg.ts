/**
 * Building blocks of the demo pictures. A motif is SVG text drawn in a box of 400 × 400, standing on y = 350.
 * Everything is shapes and paths: no fonts, so that the result is the same on every machine.
 */

export type Motif = () => string;

export type Placed = {
  motif: Motif /** Centre, pixels. */;
  x: number;
  y: number /** 1 is 400 px. */;
  scale: number;
  rotate?: number;
};

export type Pattern = 'confetti' | 'dots' | 'rays' | 'waves' | 'rings';

export type Picture = {
  width: number;
  height: number;
  /** Gradient of the background, top left to bottom right. */
  from: string;
  to: string;
  pattern: Pattern;
  /** Pale disc behind the first motif; its diameter as a share of the height. */
  disc?: number;
  items: readonly Placed[];
};

export const documentOf = (width: number, height: number, body: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
    ${body}</svg>`;

export const gradient = (
  id: string,
  from: string,
  to: string,
  direction: 'down' | 'diagonal' | 'right' = 'diagonal',
): string => {
  const x2 = direction === 'down' ? 0 : 1;
  const y2 = direction === 'right' ? 0 : 1;
  return `<linearGradient id="${id}" x1="0" y1="0" x2="${x2}" y2="${y2}"><stop offset="0" stop-color="${from}"/>
    <stop offset="1" stop-color="${to}"/></linearGradient>`;
};

export const at = (x: number, y: number, body: string, rotate = 0, scale = 1): string =>
  `<g transform="translate(${x} ${y}) rotate(${rotate}) scale(${scale})">${body}</g>`;

/** A leaf that grows from (x, y); an angle of 0 points up. */
export const leaf = (
  x: number,
  y: number,
  length: number,
  width: number,
  angle: number,
  fill: string,
  rib = 'rgba(255,255,255,.35)',
): string => {
  const c = width * 0.67;
  const [low, high] = [-length * 0.3, -length * 0.7];
  const shape = `M0 0C${c} ${low} ${c} ${high} 0 ${-length}C${-c} ${high} ${-c} ${low} 0 0Z`;
  const line = `<path d="M0 0V${-length * 0.8}" stroke="${rib}" stroke-width="3" stroke-linecap="round"/>`;
  return at(x, y, `<path d="${shape}" fill="${fill}"/>${line}`, angle);
};

/** A four-pointed sparkle. */
export const sparkle = (x: number, y: number, size: number, fill: string): string => {
  const q = size * 0.18;
  return `<path transform="translate(${x} ${y})" fill="${fill}"
    d="M0 ${-size}Q${q} ${-q} ${size} 0Q${q} ${q} 0 ${size}Q${-q} ${q} ${-size} 0Q${-q} ${-q} 0 ${-size}Z"/>`;
};

export const star = (x: number, y: number, radius: number, fill: string): string => {
  const points = Array.from({ length: 10 }, (_, i) => {
    const r = i % 2 === 0 ? radius : radius * 0.45;
    const a = (Math.PI * i) / 5 - Math.PI / 2;
    return `${(Math.cos(a) * r).toFixed(1)},${(Math.sin(a) * r).toFixed(1)}`;
  });
  return `<polygon transform="translate(${x} ${y})" points="${points.join(' ')}" fill="${fill}"/>`;
};

export const cloud = (x: number, y: number, scale: number, fill = '#fff'): string =>
  at(
    x,
    y,
    `<path fill="${fill}" d="M-70 20a28 28 0 0 1 6-55a46 46 0 0 1 86-12a36 36 0 0 1 50 32a18 18 0 0 1-4 35Z"/>`,
    0,
    scale,
  );

/** Wavy steam, rising from (x, y). */
export const steam = (x: number, y: number): string =>
  `<path d="M${x} ${y}c-18-22 18-36 0-58s14-32 2-50" fill="none" stroke="#fff" stroke-opacity=".75" stroke-width="10"
    stroke-linecap="round"/>`;

export const heart = (x: number, y: number, scale: number, fill: string): string =>
  at(
    x,
    y,
    `<path fill="${fill}" d="M0 30C-40 2-34-26-16-26C-6-26 0-18 0-12C0-18 6-26 16-26C34-26 40 2 0 30Z"/>`,
    0,
    scale,
  );

export const groundShadow = (rx = 150, y = 352): string =>
  `<ellipse cx="200" cy="${y}" rx="${rx}" ry="${Math.round(rx / 9)}" fill="#000" opacity=".14"/>`;

/** Numbers in [0, 1) that are the same in every run. */
const sequence = (seed: number): (() => number) => {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
};

const PATTERNS: Record<Pattern, (width: number, height: number) => string> = {
  confetti(width, height) {
    const next = sequence(width + 7);
    const kinds = [
      (x: number, y: number) => `<circle cx="${x}" cy="${y}" r="7" fill="#fff"/>`,
      (x: number, y: number) =>
        `<rect x="-9" y="-4" width="18" height="8" rx="4" fill="#fff"
          transform="translate(${x} ${y}) rotate(${x % 180})"/>`,
      (x: number, y: number) => sparkle(x, y, 14, '#fff'),
    ];
    const pieces = Array.from({ length: Math.round((width * height) / 15_000) }, (_, i) =>
      kinds[i % kinds.length]?.(Math.round(next() * width), Math.round(next() * height)),
    );
    return `<g opacity=".4">${pieces.join('')}</g>`;
  },
  dots(width, height) {
    const rows = Array.from({ length: Math.ceil(height / 44) }, (_, row) =>
      Array.from(
        { length: Math.ceil(width / 44) },
        (_, column) => `<circle cx="${column * 44 + (row % 2) * 22 + 11}" cy="${row * 44 + 22}" r="4"/>`,
      ).join(''),
    );
    return `<g fill="#fff" opacity=".2">${rows.join('')}</g>`;
  },
  rays(width, height) {
    const reach = width + height;
    const wedges = Array.from({ length: 12 }, (_, i) => {
      const [a, b] = [(i * Math.PI) / 6, ((i + 0.5) * Math.PI) / 6];
      const corner = (angle: number) => `${Math.round(Math.cos(angle) * reach)} ${Math.round(Math.sin(angle) * reach)}`;
      return `<path d="M0 0L${corner(a)}L${corner(b)}Z"/>`;
    });
    return `<g fill="#fff" opacity=".1" transform="translate(${width / 2} ${height / 2})">${wedges.join('')}</g>`;
  },
  waves(width, height) {
    const wave = (y: number, opacity: number) => {
      const step = width / 4;
      return `<path d="M0 ${y}q${step / 2} -60 ${step} 0t${step} 0t${step} 0t${step} 0V${height}H0Z" fill="#fff"
        opacity="${opacity}"/>`;
    };
    return wave(height * 0.62, 0.12) + wave(height * 0.76, 0.14) + wave(height * 0.88, 0.16);
  },
  rings(width, height) {
    const ring = (cx: number, cy: number, r: number) =>
      `<circle cx="${cx}" cy="${cy}" r="${r}"/><circle cx="${cx}" cy="${cy}" r="${r * 0.66}"/>`;
    return `<g fill="none" stroke="#fff" stroke-width="${Math.round(height / 26)}" opacity=".14">
      ${ring(width * 0.06, height * 0.92, height * 0.34)}${ring(width * 0.95, height * 0.08, height * 0.3)}</g>`;
  },
};

export const paint = (picture: Picture): string => {
  const { width, height, from, to, pattern, disc, items } = picture;
  const first = items[0];
  const circle =
    disc && first
      ? `<circle cx="${first.x}" cy="${first.y}" r="${(disc * height) / 2}" fill="#fff" opacity=".26"/>`
      : '';
  const placed = items.map(({ motif, x, y, scale, rotate }) =>
    at(x, y, `<g transform="translate(-200 -200)">${motif()}</g>`, rotate, scale),
  );
  const back = `<defs>${gradient('back', from, to)}</defs>
    <rect width="${width}" height="${height}" fill="url(#back)"/>`;
  return documentOf(width, height, back + PATTERNS[pattern](width, height) + circle + placed.join(''));
};
