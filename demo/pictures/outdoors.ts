import { at, cloud, gradient, groundShadow, type Motif, sparkle, star } from './svg.ts';

const palm = (x: number, y: number, scale: number): string => {
  const frond = (angle: number, fill: string) =>
    `<path d="M0 0C30-40 84-40 112 4C78-12 40-8 0 0Z" fill="${fill}" transform="translate(18 -170) rotate(${angle})"/>`;
  const fronds =
    [-8, 24, 58, -44].map((a, i) => frond(a, i % 2 ? '#2f9c6a' : '#23835a')).join('') +
    [150, 186, 218, 120].map((a, i) => frond(a, i % 2 ? '#3cb179' : '#23835a')).join('');
  return at(
    x,
    y,
    `<path d="M-12 0C-10-70 0-120 12-172L24-170C20-120 16-60 16 0Z" fill="#9a6234"/>${fronds}
      <circle cx="10" cy="-160" r="10" fill="#6d4020"/><circle cx="28" cy="-158" r="10" fill="#7d4a26"/>`,
    0,
    scale,
  );
};

const boat = (x: number, y: number, scale: number): string =>
  at(
    x,
    y,
    `<path d="M-70 0H70L46 34H-46Z" fill="#d8433b"/><path d="M-66 0H66L62 9H-62Z" fill="#fff"/>
      <rect x="-4" y="-140" width="8" height="142" rx="4" fill="#7a4a2a"/>
      <path d="M10-134C60-104 72-54 70-14H10Z" fill="#fff"/>
      <path d="M-10-116C-40-88-58-50-60-14H-10Z" fill="#ffe3b8"/>`,
    0,
    scale,
  );

/** Sea, sun and island; fills the whole picture. */
export const seaside = (width: number, height: number): string => {
  const horizon = height * 0.56;
  const cx = width * 0.42;
  const glints = Array.from({ length: 7 }, (_, i) => {
    const w = height * (0.3 - i * 0.028);
    return `<rect x="${cx - w / 2 + (i % 2 ? 12 : -12)}" y="${horizon + 14 + i * height * 0.03}" width="${w}"
      height="${height * 0.011}" rx="3" fill="#ffe9b0" opacity="${0.75 - i * 0.08}"/>`;
  });
  const wave = (y: number, fill: string) =>
    `<path d="M0 ${y}q${width / 12} -${height * 0.035} ${width / 6} 0t${width / 6} 0t${width / 6} 0t${width / 6} 0
      t${width / 6} 0t${width / 6} 0V${height}H0Z" fill="${fill}"/>`;
  return `
  <defs>${gradient('sky', '#ff7f6b', '#ffd58a', 'down')}${gradient('sea', '#2aa5b8', '#0f5f86', 'down')}</defs>
  <rect width="${width}" height="${height}" fill="url(#sky)"/>
  <circle cx="${cx}" cy="${horizon - height * 0.06}" r="${height * 0.31}" fill="#fff" opacity=".16"/>
  <circle cx="${cx}" cy="${horizon - height * 0.06}" r="${height * 0.2}" fill="#fff1b8"/>
  ${cloud(width * 0.17, height * 0.2, height / 640, '#ffe6d2')}
  ${cloud(width * 0.74, height * 0.14, height / 540, '#ffe6d2')}
  <path d="M0 ${horizon}L${width * 0.1} ${horizon - height * 0.1}L${width * 0.17}
  ${horizon - height * 0.05}L${width * 0.26} ${horizon}Z" fill="#c2587a" opacity=".7"/>
  <rect y="${horizon}" width="${width}" height="${height - horizon}" fill="url(#sea)"/>${glints.join('')}
  ${boat(width * 0.22, height * 0.64, height / 760)}
  ${wave(height * 0.78, '#168099')}
  <path d="M${width * 0.52} ${height * 0.84}Q${width * 0.78} ${height * 0.6} ${width * 1.08} ${height * 0.84}Z"
  fill="#f4cf94"/>
  ${palm(width * 0.75, height * 0.76, height / 470)}${palm(width * 0.87, height * 0.77, height / 640)}
  ${wave(height * 0.85, '#126d8c')}${wave(height * 0.93, '#0d5676')}`;
};

const pine = (x: number, y: number, scale: number, fill: string): string =>
  at(
    x,
    y,
    `<rect x="-6" y="-20" width="12" height="24" fill="#4b2e22"/>
      <path d="M0-130L34-74H-34ZM0-98L44-42H-44ZM0-62L54-12H-54Z" fill="${fill}"/>`,
    0,
    scale,
  );

/** A cabin under stars; fills the whole picture. */
const MOON =
  '<path transform="translate(-164 -127)" d="M92 84A92 92 0 1 0 236 170A76 76 0 1 1 92 84Z" fill="#ffeebf"/>';

/** The cabin itself, standing on (0, 0). */
const A_FRAME = `<ellipse cx="0" cy="2" rx="150" ry="14" fill="#8f9bd0" opacity=".6"/>
  <path d="M0-196L122 0H-122Z" fill="#b5653a"/><path d="M0-156L88 0H-88Z" fill="#7c3f25"/>
  <path d="M0-216L140 8H108L0-166L-108 8H-140Z" fill="#fff"/>
  <rect x="-24" y="-62" width="48" height="62" rx="5" fill="#4a2415"/><circle cx="14" cy="-30" r="4" fill="#ffd36b"/>
  <path d="M-30-74V-100L0-136L30-100V-74Z" fill="#ffd36b"/>
  <path d="M0-134V-74M-30-96H30" stroke="#7c3f25" stroke-width="6"/>`;

export const cabin = (width: number, height: number): string => {
  const peak = (x: number, top: number, half: number, fill: string) => {
    const base = height * 0.74;
    const s = (base - top) * 0.26;
    const w = (half * s) / (base - top);
    return `<path d="M${x - half} ${base}L${x} ${top}L${x + half} ${base}Z" fill="${fill}"/>
      <path d="M${x} ${top}L${x + w} ${top + s}L${x + w * 0.4} ${top + s * 0.8}L${x} ${top + s * 1.15}
      L${x - w * 0.4} ${top + s * 0.8}L${x - w} ${top + s}Z" fill="#eef2ff"/>`;
  };
  const stars = Array.from(
    { length: 22 },
    (_, i) =>
      `<circle cx="${(i * 137) % width}" cy="${((i * 71) % (height * 0.36)) + 16}" r="${2 + (i % 3)}" fill="#fff"
        opacity="${0.5 + (i % 3) * 0.2}"/>`,
  );
  return `
  <defs>${gradient('night', '#1c1f57', '#7a5aa8', 'down')}${gradient('snow', '#f4f6ff', '#c3cdf0', 'down')}</defs>
  <rect width="${width}" height="${height}" fill="url(#night)"/>
  ${stars.join('')}${sparkle(width * 0.22, height * 0.16, 16, '#fff')}
  ${at(width * 0.78, height * 0.19, MOON, -60, height / 1000)}
  ${peak(width * 0.2, height * 0.32, height * 0.42, '#4a4590')}
  ${peak(width * 0.86, height * 0.36, height * 0.4, '#4a4590')}
  ${peak(width * 0.55, height * 0.22, height * 0.48, '#5d55a8')}
  <path d="M0 ${height * 0.72}Q${width * 0.3} ${height * 0.62} ${width * 0.55} ${height * 0.7}T${width}
  ${height * 0.68}V${height}H0Z" fill="url(#snow)"/>
  ${pine(width * 0.12, height * 0.8, height / 520, '#1f5a54')}
  ${pine(width * 0.24, height * 0.76, height / 700, '#2a6e62')}
  ${pine(width * 0.88, height * 0.82, height / 480, '#1f5a54')}
  ${pine(width * 0.77, height * 0.77, height / 720, '#2a6e62')}
  ${at(width * 0.5, height * 0.85, A_FRAME, 0, height / 600)}
  <path d="M${width * 0.46} ${height * 0.85}Q${width * 0.4} ${height * 0.93} ${width * 0.3}
  ${height}H${width * 0.6}Q${width * 0.58} ${height * 0.92} ${width * 0.54} ${height * 0.85}Z" fill="#ffe9b5"
  opacity=".6"/>`;
};

export const suitcase: Motif = () => `
  <defs>${gradient('case', '#ffb13d', '#f0762f')}</defs>
  ${groundShadow(130, 362)}
  <path d="M152 116V66Q152 50 168 50H232Q248 50 248 66V116" fill="none" stroke="#33415c" stroke-width="15"/>
  <g fill="#33415c"><rect x="104" y="334" width="40" height="24" rx="10"/>
  <rect x="256" y="334" width="40" height="24" rx="10"/></g>
  <rect x="72" y="108" width="256" height="236" rx="32" fill="url(#case)"/>
  <path d="M268 108H296Q328 108 328 140V312Q328 344 296 344H268Z" fill="#000" opacity=".1"/>
  <g fill="#c9551b" opacity=".55"><rect x="116" y="108" width="12" height="236"/>
  <rect x="272" y="108" width="12" height="236"/></g>
  <circle cx="200" cy="206" r="52" fill="#fff4da"/><path d="M154 214h92v6a46 46 0 0 1-92 0Z" fill="#2aa5b8"/>
  <circle cx="200" cy="204" r="20" fill="#ff6f61"/>
  <path d="M148 216q13-12 26 0t26 0t26 0t26 0" stroke="#fff" stroke-width="6" fill="none"/>
  ${star(164, 300, 18, '#fff4da')}
  <rect x="206" y="288" width="58" height="24" rx="12" fill="#2aa5b8" transform="rotate(-10 235 300)"/>`;

export const kite: Motif = () => `
  ${cloud(84, 120, 0.75, '#ffffff')}${cloud(330, 300, 0.85, '#ffffff')}${cloud(312, 92, 0.5, '#ffffff')}
  <path d="M172 262C150 300 206 314 180 348S132 372 120 392" stroke="#fff" stroke-width="6" fill="none"
  stroke-linecap="round"/>
  <g transform="translate(212 150) rotate(16)"><path d="M0-128L92-22L0-22Z" fill="#ff6b6b"/>
  <path d="M0-128L-92-22L0-22Z" fill="#ffd166"/><path d="M0 124L92-22L0-22Z" fill="#845ec2"/>
  <path d="M0 124L-92-22L0-22Z" fill="#2ec4b6"/>
  <path d="M0-128V124M-92-22H92" stroke="#fff" stroke-width="6" stroke-linecap="round"/></g>
  <g><path d="M176 304l-32-14v28ZM176 304l32-14v28Z" fill="#ff6b6b"/>
  <path d="M174 352l-28-8l8 26ZM174 352l30-4l-14 24Z" fill="#ffd166"/></g>`;

export const rocket: Motif = () => `
  <defs>${gradient('rocket', '#ffffff', '#dfe6f7', 'right')}</defs>
  ${star(70, 110, 22, '#ffd166')}${star(340, 150, 16, '#fff')}${star(90, 290, 14, '#fff')}
  ${sparkle(326, 70, 20, '#fff')}${sparkle(346, 292, 16, '#ffd166')}
  <g transform="rotate(24 200 200)"><path d="M164 306q36 112 72 0Z" fill="#ff9f1c"/>
  <path d="M180 306q20 64 40 0Z" fill="#ffe08a"/>
    <path d="M142 214L92 286Q88 306 112 300L150 286ZM258 214L308 286Q312 306 288 300L250 286Z" fill="#e63946"/>
    <path d="M200 28C272 92 274 210 246 306H154C126 210 128 92 200 28Z" fill="url(#rocket)"/>
    <path d="M200 28C228 52 246 84 255 120H145C154 84 172 52 200 28Z" fill="#e63946"/>
    <circle cx="200" cy="176" r="40" fill="#1d3557"/><circle cx="200" cy="176" r="29" fill="#8ecae6"/>
    <path d="M182 170a20 20 0 0 1 18-14" stroke="#fff" stroke-width="7" stroke-linecap="round" fill="none"/>
    <rect x="152" y="270" width="96" height="18" fill="#ffd166"/></g>`;

/** Toy blocks in a tower, each with a shape. */
export const blocks: Motif = () => {
  const block = (x: number, y: number, fill: string, mark: string) =>
    `<rect x="${x}" y="${y}" width="112" height="112" rx="16" fill="${fill}"/>
      <rect x="${x + 13}" y="${y + 13}" width="86" height="86" rx="10" fill="#fff" opacity=".22"/>
      ${at(x + 56, y + 56, mark)}`;
  const bottom = [
    block(26, 238, '#ff6b6b', '<circle r="28" fill="#fff"/>'),
    block(144, 238, '#2ec4b6', '<path d="M0-32L32 26H-32Z" fill="#fff"/>'),
    block(262, 238, '#845ec2', '<rect x="-26" y="-26" width="52" height="52" rx="6" fill="#fff"/>'),
  ];
  const upper = [
    block(86, 122, '#ffb52e', star(0, 2, 36, '#fff')),
    block(204, 122, '#4b8bf5', sparkle(0, 0, 38, '#fff')),
  ];
  return `${groundShadow(190, 354)}${bottom.join('')}${upper.join('')}
    <path d="M146 118a56 56 0 0 1 112 0h-30a26 26 0 0 0-52 0Z" fill="#ff6b6b"/>`;
};
