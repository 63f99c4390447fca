import { at, gradient, groundShadow, leaf, type Motif, sparkle, star } from './svg.ts';

const pot = (x: number, y: number, scale: number, fill: string, rim: string): string =>
  at(
    x,
    y,
    `<path d="M-78-110H78L58-8Q56 0 46 0H-46Q-56 0-58-8Z" fill="${fill}"/>
      <rect x="-90" y="-134" width="180" height="34" rx="10" fill="${rim}"/>
      <path d="M30-100H78L58-8Q56 0 46 0H22Q34-50 30-100Z" fill="#000" opacity=".1"/>`,
    0,
    scale,
  );

export const plant: Motif = () => `
  ${groundShadow(100)}
  ${leaf(190, 232, 150, 74, -62, '#2f8f5b')}${leaf(210, 232, 150, 74, 62, '#2f8f5b')}
  ${leaf(192, 232, 186, 84, -34, '#48ad6d')}${leaf(208, 232, 186, 84, 34, '#3c9f63')}
  ${leaf(200, 232, 212, 86, 0, '#63c684')}
  ${leaf(188, 232, 96, 54, -86, '#63c684')}${leaf(212, 232, 96, 54, 86, '#63c684')}
  ${pot(200, 350, 0.98, '#e8744f', '#f38f6b')}<g fill="#fff" opacity=".85"><circle cx="168" cy="296" r="8"/>
  <circle cx="200" cy="310" r="8"/><circle cx="232" cy="296" r="8"/></g>`;

export const cacti: Motif = () => `
  ${groundShadow(165)}
  <g fill="#3fa66b"><rect x="84" y="146" width="52" height="130" rx="26"/>
  <path d="M60 190v18q0 28 36 28v-18q-16 0-16-12v-16a10 10 0 0 0-20 0ZM160 174v18q0 28-36 28v-18q16 0 16-12v-16a10 10
  0 0 1 20 0Z"/>
  </g>
  <g stroke="#8fdcae" stroke-width="4" stroke-linecap="round"><path d="M102 172v80"/><path d="M118 172v80"/></g>
  <circle cx="110" cy="142" r="15" fill="#ff7aa2"/><circle cx="110" cy="142" r="6" fill="#ffe08a"/>
  ${pot(110, 350, 0.62, '#f6b042', '#ffc768')}
  <circle cx="292" cy="250" r="50" fill="#58b98a"/>
  <g stroke="#b5ecd0" stroke-width="5" fill="none" stroke-linecap="round"><path d="M292 204v70"/>
  <path d="M270 210q-16 34-6 64"/><path d="M314 210q16 34 6 64"/></g>
  <circle cx="292" cy="200" r="12" fill="#ffd166"/>
  ${pot(292, 350, 0.6, '#5f7adb', '#839af0')}
  ${leaf(202, 290, 100, 26, -30, '#2f8f5b')}${leaf(202, 290, 120, 28, 0, '#48ad6d')}
  ${leaf(202, 290, 100, 26, 30, '#2f8f5b')}${leaf(202, 290, 76, 22, -56, '#48ad6d')}
  ${leaf(202, 290, 76, 22, 56, '#48ad6d')}
  ${pot(202, 354, 0.5, '#ef6f6c', '#ff8f88')}`;

export const wateringCan: Motif = () => `
  <defs>${gradient('can', '#3fa7d6', '#2274a5')}</defs>
  ${groundShadow(130)}
  <path d="M270 200C370 190 366 330 270 320" fill="none" stroke="#1b5e87" stroke-width="18" stroke-linecap="round"/>
  <path d="M138 300L56 166L78 152L150 232Z" fill="#2b86b8"/><path d="M34 178L92 134L102 148L44 192Z" fill="#1b5e87"/>
  <path d="M138 190H274L286 334Q287 350 270 350H142Q125 350 126 334Z" fill="url(#can)"/>
  <ellipse cx="206" cy="190" rx="68" ry="16" fill="#1b5e87"/>
  <path d="M154 188C154 96 258 96 258 188" fill="none" stroke="#1b5e87" stroke-width="14"/>
  <circle cx="206" cy="272" r="36" fill="#fff" opacity=".9"/>
  ${leaf(203, 294, 46, 28, -20, '#48ad6d')}${leaf(209, 294, 42, 26, 30, '#2f8f5b')}
  <g fill="#bfe8fb"><path d="M40 214q14 22 0 32q-14-10 0-32ZM16 238q12 20 0 30q-12-10 0-30ZM66 248q12 20 0 30q-12-10
  0-30ZM36 292q12 20 0 30q-12-10 0-30Z"/>
  </g>`;

const book = (x: number, y: number, width: number, height: number, fill: string, band: string): string =>
  `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="9" fill="${fill}"/>
    <path d="M${x + width} ${y + 8}H${x + 34}a${(height - 16) / 2} ${(height - 16) / 2} 0 0 0 0 ${height - 16}
    H${x + width}Z" fill="#fff4dd"/><g stroke="#d9c6a0" stroke-width="2.5">
    <path d="M${x + 40} ${y + height * 0.4}H${x + width - 6}"/>
    <path d="M${x + 40} ${y + height * 0.62}H${x + width - 6}"/></g>
    <rect x="${x + width - 62}" y="${y}" width="20" height="${height}" fill="${band}" opacity=".95"/>`;

export const books: Motif = () => `
  ${groundShadow(150)}
  ${book(60, 294, 280, 56, '#274690', '#f6bd60')}${book(80, 238, 250, 56, '#d1495b', '#ffe3a8')}
  ${book(54, 186, 262, 52, '#2a9d8f', '#f4f1de')}${book(96, 138, 224, 48, '#f4a261', '#274690')}
  <g transform="rotate(-7 200 110)"><rect x="100" y="84" width="206" height="44" rx="9" fill="#6a4c93"/>
  <path d="M306 91H132a15 15 0 0 0 0 30H306Z" fill="#fff4dd"/>
  <path d="M250 84h22v66l-11-11l-11 11Z" fill="#ef476f"/></g>
  ${sparkle(340, 80, 22, '#fff')}${sparkle(60, 110, 16, '#fff')}`;

export const openBook: Motif = () => `
  ${groundShadow(170, 346)}
  <path d="M92 84A92 92 0 1 0 236 170A76 76 0 1 1 92 84Z" transform="translate(52 -24) scale(.86)" fill="#ffe08a"/>
  ${star(282, 72, 20, '#fff')}${star(86, 150, 13, '#fff')}${star(318, 158, 13, '#ffe08a')}
  ${sparkle(118, 70, 15, '#fff')}
  <path d="M22 218Q112 196 200 238Q288 196 378 218V338Q288 316 200 352Q112 316 22 338Z" fill="#7b2d43"/>
  <path d="M34 206Q120 184 200 228V338Q120 298 34 322Z" fill="#fffaf0"/>
  <path d="M366 206Q280 184 200 228V338Q280 298 366 322Z" fill="#f3e6cd"/>
  <path d="M200 228V338" stroke="#d7c3a0" stroke-width="5"/>
  <g stroke="#cdb993" stroke-width="6" stroke-linecap="round" fill="none"><path d="M58 230q58-8 116 20"/>
  <path d="M58 256q58-8 116 20"/><path d="M58 282q40-6 80 6"/><path d="M342 230q-58-8-116 20"/>
  <path d="M342 256q-58-8-116 20"/><path d="M342 282q-58-8-116 20"/></g>`;

export const solarHouse: Motif = () => {
  const panel = (x: number, y: number) =>
    `<path d="M${x} ${y}h54l-13 38h-54Z" fill="#1f4e9c"/>
      <path d="M${x + 27} ${y}l-13 38M${x - 6.5} ${y + 19}h54" stroke="#7fb2ff" stroke-width="3"/>`;
  const rays = [0, 45, 90, 135, 180, 225, 270, 315].map(
    (angle) => `<path d="M334 18v-20" transform="rotate(${angle} 334 76)"/>`,
  );
  return `
  ${groundShadow(175)}
  <circle cx="334" cy="76" r="40" fill="#ffe08a"/>
  <g stroke="#ffe08a" stroke-width="9"
  stroke-linecap="round">
  ${rays.join('')}</g>
  <circle cx="60" cy="262" r="46" fill="#46a66a"/><circle cx="88" cy="286" r="34" fill="#5cbf7f"/>
  <rect x="58" y="290" width="14" height="60" rx="5" fill="#7a4a2a"/>
  <rect x="104" y="208" width="220" height="142" fill="#fff7ea"/>
  <rect x="262" y="208" width="62" height="142" fill="#ead9bf" opacity=".6"/>
  <rect x="276" y="92" width="30" height="60" fill="#c65b3f"/>
  <path d="M128 104H312L340 214H84Z" fill="#d96c4a"/>
  ${panel(156, 118)}${panel(218, 118)}${panel(138, 164)}${panel(200, 164)}
  <rect x="132" y="246" width="58" height="104" rx="5" fill="#2f7f86"/>
  <circle cx="178" cy="302" r="5" fill="#ffe08a"/>
  <rect x="220" y="246" width="74" height="56" rx="5" fill="#ffe08a"/>
  <path d="M257 246v56M220 274h74" stroke="#c9823f" stroke-width="6"/>`;
};

const bulbRay = (angle: number): string => `<path d="M200 10v-30" transform="rotate(${angle} 200 160)"/>`;

export const bulb: Motif = () => `
  <defs>${gradient('bulb', '#fff3b0', '#ffc93c', 'down')}</defs>
  ${groundShadow(70, 372)}
  <g stroke="#fff" stroke-width="12"
  stroke-linecap="round">
  ${[-100, -66, -33, 0, 33, 66, 100].map(bulbRay).join('')}</g>
  <path d="M200 38C270 38 318 90 318 154C318 206 284 226 262 262Q256 274 256 284H144Q144 274 138 262C116 226 82 206
  82 154C82 90 130 38 200 38Z" fill="url(#bulb)"/>
  <path d="M118 150a78 78 0 0 1 52-72" stroke="#fff" stroke-width="14" stroke-linecap="round" fill="none"
  opacity=".85"/>
  ${leaf(196, 240, 108, 62, -24, '#3fa66b')}${leaf(204, 240, 96, 56, 30, '#2f8f5b')}
  <path d="M200 284V236" stroke="#2f8f5b" stroke-width="8"/>
  <rect x="146" y="288" width="108" height="24" rx="12" fill="#5c6b8a"/>
  <rect x="152" y="316" width="96" height="22" rx="11" fill="#74839f"/>
  <path d="M168 342H232Q226 366 200 366Q174 366 168 342Z" fill="#44506a"/>`;
