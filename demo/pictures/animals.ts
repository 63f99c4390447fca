import { groundShadow, heart, type Motif } from './svg.ts';

export const dog: Motif = () => `
  ${groundShadow(110, 366)}
  <path d="M112 366Q116 296 200 296Q284 296 288 366Z" fill="#c98a4b"/>
  <path d="M160 366Q166 316 200 316Q234 316 240 366Z" fill="#fff3e0"/>
  <path d="M200 58C280 58 314 118 308 190C304 262 258 306 200 306C142 306 96 262 92 190C86 118 120 58 200 58Z"
  fill="#e0a15e"/>
  <path d="M228 62C290 74 314 128 306 194Q262 214 236 168Q222 122 228 62Z" fill="#fff3e0"/>
  <path d="M124 80C72 70 42 124 56 196Q66 232 90 218C104 184 104 124 124 80Z" fill="#8a5228"/>
  <path d="M276 80C328 70 358 124 344 196Q334 232 310 218C296 184 296 124 276 80Z" fill="#8a5228"/>
  <ellipse cx="200" cy="234" rx="66" ry="54" fill="#fff3e0"/>
  <ellipse cx="200" cy="204" rx="27" ry="19" fill="#3a241a"/><ellipse cx="192" cy="198" rx="8" ry="4" fill="#8a6a5a"/>
  <path d="M200 222v18" stroke="#3a241a" stroke-width="6"/>
  <path d="M178 250Q178 292 200 292Q222 292 222 250Z" fill="#f2677a"/>
  <path d="M200 252v24" stroke="#c9455c" stroke-width="4"/>
  <path d="M158 238q22 22 42 2q20 20 42-2" stroke="#3a241a" stroke-width="7" fill="none" stroke-linecap="round"/>
  <g fill="#3a241a"><circle cx="150" cy="160" r="15"/><circle cx="250" cy="160" r="15"/></g>
  <g fill="#fff"><circle cx="155" cy="155" r="5"/><circle cx="255" cy="155" r="5"/></g>
  <path d="M128 310Q200 346 272 310L268 330Q200 364 132 330Z" fill="#2a9d8f"/>
  <circle cx="200" cy="350" r="17" fill="#ffd166"/>${heart(200, 350, 0.3, '#e76f51')}`;

export const cat: Motif = () => `
  ${groundShadow(110, 366)}
  <path d="M282 350C352 350 360 270 330 244" stroke="#59617d" stroke-width="24" fill="none" stroke-linecap="round"/>
  <path d="M106 366Q104 274 200 274Q296 274 294 366Z" fill="#6f7899"/>
  <path d="M162 366Q164 312 200 312Q236 312 238 366Z" fill="#f6f3ff"/>
  <path d="M98 168L92 52Q94 38 108 46L176 92ZM302 168L308 52Q306 38 292 46L224 92Z" fill="#6f7899"/>
  <path d="M112 138L110 80L150 106ZM288 138L290 80L250 106Z" fill="#f7a6b8"/>
  <path d="M200 82C276 82 318 136 314 196C310 258 262 298 200 298C138 298 90 258 86 196C82 136 124 82 200 82Z"
  fill="#7d87ab"/>
  <g fill="#59617d"><path d="M188 84h24l-6 48q-6 10-12 0ZM152 92l20-6l4 36q-2 10-10 4ZM248 92l-20-6l-4 36q2 10 10 4Z"/>
  </g>
  <ellipse cx="172" cy="240" rx="40" ry="33" fill="#f6f3ff"/><ellipse cx="228" cy="240" rx="40" ry="33" fill="#f6f3ff"/>
  <path d="M200 232l-15-15h30Z" fill="#f2677a"/>
  <path d="M172 246q18 14 28-8q10 22 28 8" stroke="#343a52" stroke-width="6" fill="none" stroke-linecap="round"/>
  <ellipse cx="146" cy="182" rx="24" ry="27" fill="#ffe08a"/>
  <ellipse cx="254" cy="182" rx="24" ry="27" fill="#ffe08a"/>
  <ellipse cx="148" cy="183" rx="11" ry="22" fill="#2b2f45"/>
  <ellipse cx="252" cy="183" rx="11" ry="22" fill="#2b2f45"/><g fill="#fff"><circle cx="152" cy="174" r="5"/>
  <circle cx="256" cy="174" r="5"/></g>
  <g stroke="#f6f3ff" stroke-width="5" stroke-linecap="round"><path d="M118 236L54 226"/><path d="M118 250L58 262"/>
  <path d="M282 236L346 226"/><path d="M282 250L342 262"/></g>`;

const bone = (x: number, y: number, scale: number, fill: string): string =>
  `<path transform="translate(${x} ${y}) scale(${scale})" fill="${fill}"
    d="M-40-12a20 20 0 1 0-26 12a20 20 0 1 0 26 12H40a20 20 0 1 0 26-12a20 20 0 1 0-26-12Z"/>`;

export const petBowl: Motif = () => {
  const kibble = [
    [110, 214, '#b9703a'],
    [146, 196, '#9c5a2b'],
    [186, 184, '#c9834a'],
    [226, 184, '#9c5a2b'],
    [262, 198, '#b9703a'],
    [292, 214, '#c9834a'],
    [166, 216, '#c9834a'],
    [206, 208, '#b9703a'],
    [244, 218, '#9c5a2b'],
  ] as const;
  return `
  ${groundShadow(165)}
  <g transform="rotate(-24 216 140)">${bone(216, 150, 1.15, '#fff4dd')}</g>
  ${kibble.map(([x, y, fill]) => `<circle cx="${x}" cy="${y}" r="27" fill="${fill}"/>`).join('')}
  <path d="M78 222H322L362 336Q366 350 350 350H50Q34 350 38 336Z" fill="#e4572e"/>
  <path d="M262 222H322L362 336Q366 350 350 350H286Z" fill="#000" opacity=".12"/>
  <rect x="66" y="212" width="268" height="24" rx="12" fill="#ff7d57"/>
  ${bone(200, 292, 0.95, '#fff4dd')}`;
};
