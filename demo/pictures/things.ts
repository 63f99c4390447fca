import { gradient, groundShadow, leaf, type Motif, sparkle } from './svg.ts';

export const headphones: Motif = () => `
  <defs>${gradient('phones', '#ff6b8b', '#d63a6a')}</defs>
  ${groundShadow(140, 360)}
  <path d="M84 236V200C84 132 136 80 200 80C264 80 316 132 316 200V236" fill="none" stroke="#2b2d52"
  stroke-width="28" stroke-linecap="round"/>
  <path d="M104 168C118 128 156 102 200 102" fill="none" stroke="#5d61a0" stroke-width="9" stroke-linecap="round"/>
  <rect x="100" y="212" width="46" height="124" rx="23" fill="#2b2d52"/>
  <rect x="254" y="212" width="46" height="124" rx="23" fill="#2b2d52"/>
  <rect x="52" y="202" width="72" height="144" rx="34" fill="url(#phones)"/>
  <rect x="276" y="202" width="72" height="144" rx="34" fill="url(#phones)"/>
  <g stroke="#ffc2d1" stroke-width="8" stroke-linecap="round"><path d="M74 240v54"/><path d="M326 240v54"/></g>
  <g fill="#fff"><rect x="170" y="248" width="12" height="52" rx="6"/>
  <rect x="194" y="224" width="12" height="100" rx="6"/><rect x="218" y="256" width="12" height="36" rx="6"/></g>`;

export const vinyl: Motif = () => `
  <defs>${gradient('sleeve', '#ffb347', '#ff5e62')}</defs>
  ${groundShadow(165, 350)}
  <circle cx="262" cy="200" r="128" fill="#1e1e33"/>
  <g fill="none" stroke="#45456b" stroke-width="3"><circle cx="262" cy="200" r="112"/>
  <circle cx="262" cy="200" r="96"/><circle cx="262" cy="200" r="80"/><circle cx="262" cy="200" r="64"/></g>
  <path d="M262 200L350 106A128 128 0 0 1 384 160Z" fill="#fff" opacity=".14"/>
  <circle cx="262" cy="200" r="44" fill="#2ec4b6"/><circle cx="262" cy="200" r="9" fill="#fff"/>
  <rect x="28" y="62" width="218" height="276" rx="12" fill="url(#sleeve)"/>
  <circle cx="137" cy="172" r="62" fill="#ffe6a7"/>
  <path d="M28 250q27-34 55 0t55 0t54 0t54 0V326q0 12-12 12H40q-12 0-12-12Z" fill="#5b2a86"/>
  <path d="M28 282q27-26 55 0t55 0t54 0t54 0V326q0 12-12 12H40q-12 0-12-12Z" fill="#3d1a63"/>`;

export const speaker: Motif = () => `
  <defs>${gradient('speaker', '#4d55a5', '#2b2d6e')}</defs>
  ${groundShadow(100)}
  <rect x="108" y="66" width="184" height="284" rx="34" fill="url(#speaker)"/>
  <circle cx="200" cy="138" r="38" fill="#1e1f4d"/><circle cx="200" cy="138" r="21" fill="#ff6b8b"/>
  <circle cx="200" cy="254" r="68" fill="#1e1f4d"/><circle cx="200" cy="254" r="50" fill="#ff6b8b"/>
  <circle cx="200" cy="254" r="22" fill="#ffd166"/>
  <g fill="none" stroke="#fff" stroke-width="11" stroke-linecap="round"><path d="M324 150q30 56 0 112"/>
  <path d="M354 122q48 84 0 168"/><path d="M76 150q-30 56 0 112"/><path d="M46 122q-48 84 0 168"/></g>`;

export const serum: Motif = () => `
  <defs>${gradient('serum', '#ffd9c7', '#f0917a', 'down')}</defs>
  ${groundShadow(120)}
  ${leaf(116, 350, 170, 64, -32, '#5fa777')}${leaf(98, 350, 120, 50, -64, '#84c49a')}
  ${leaf(286, 350, 160, 60, 34, '#4c9467')}${leaf(304, 350, 110, 46, 66, '#84c49a')}
  <path d="M176 22Q176 6 200 6Q224 6 224 22V92H176Z" fill="#3d4a5c"/>
  <rect x="158" y="88" width="84" height="46" rx="8" fill="#d7b26d"/>
  <g stroke="#b58d43" stroke-width="4"><path d="M174 92v38"/><path d="M191 92v38"/><path d="M208 92v38"/>
  <path d="M225 92v38"/></g>
  <path d="M166 134H234Q284 150 284 200V320Q284 350 254 350H146Q116 350 116 320V200Q116 150 166 134Z" fill="#fff"
  opacity=".75"/>
  <path d="M128 204H272V318Q272 338 252 338H148Q128 338 128 318Z" fill="url(#serum)"/>
  <rect x="194" y="134" width="12" height="130" rx="6" fill="#fff" opacity=".6"/>
  <rect x="146" y="222" width="108" height="92" rx="10" fill="#fffaf5"/>
  <path d="M200 232q28 38 0 54q-28-16 0-54Z" fill="#f0917a"/>
  <rect x="170" y="294" width="60" height="8" rx="4" fill="#e3c9bb"/>
  <path d="M134 190q4-26 26-36" stroke="#fff" stroke-width="9" stroke-linecap="round" fill="none"/>
  ${sparkle(322, 110, 26, '#fff')}${sparkle(72, 130, 18, '#fff')}`;

export const jar: Motif = () => `
  <defs>${gradient('jar', '#c8e6d2', '#7fbf9a')}</defs>
  ${groundShadow(150)}
  ${leaf(320, 330, 170, 70, 30, '#3f8f63')}${leaf(80, 330, 150, 64, -30, '#3f8f63')}
  <rect x="78" y="200" width="244" height="150" rx="36" fill="url(#jar)"/>
  <path d="M262 200H286Q322 200 322 236V314Q322 350 286 350H256Z" fill="#000" opacity=".08"/>
  <path d="M96 206C96 150 150 168 166 128C176 100 214 104 212 132C256 132 304 156 304 206Z" fill="#fffaf5"/>
  <path d="M132 186q40 14 66-20" stroke="#e9dccb" stroke-width="8" stroke-linecap="round" fill="none"/>
  <rect x="70" y="196" width="260" height="26" rx="13" fill="#fff"/>
  <circle cx="200" cy="284" r="44" fill="#fffaf5"/>
  ${leaf(196, 312, 60, 34, -22, '#5fa777')}${leaf(204, 312, 54, 32, 28, '#3f8f63')}
  ${sparkle(110, 110, 20, '#fff')}${sparkle(296, 84, 26, '#fff')}`;

export const sneaker: Motif = () => `
  <defs>${gradient('shoe', '#ff7a59', '#e63962')}</defs>
  ${groundShadow(180)}
  <g stroke="#fff" stroke-width="11" stroke-linecap="round" opacity=".8"><path d="M4 190h44"/>
  <path d="M-14 232h50"/><path d="M10 274h26"/></g>
  <path d="M66 150C92 168 128 166 150 136L178 118C208 168 262 216 330 232C368 242 386 266 384 308H58C50 250 50 196 66
  150Z" fill="url(#shoe)"/>
  <path d="M66 150C92 168 128 166 150 136L160 130C170 200 150 260 96 308H58C50 250 50 196 66 150Z" fill="#2b2d52"/>
  <path d="M330 232C368 242 386 266 384 308H288C290 270 304 246 330 232Z" fill="#fff" opacity=".9"/>
  <path d="M138 282C196 286 236 262 262 226" stroke="#ffd166" stroke-width="17" fill="none" stroke-linecap="round"/>
  <g stroke="#fff" stroke-width="10" stroke-linecap="round"><path d="M182 168l30-22"/><path d="M206 192l28-24"/>
  <path d="M234 214l24-26"/></g>
  <path d="M44 304H388Q394 350 352 350H80Q44 350 44 304Z" fill="#fff"/>
  <path d="M46 326H386" stroke="#cfd6e6" stroke-width="6"/>
  <g fill="#2b2d52"><rect x="92" y="342" width="40" height="8" rx="4"/>
  <rect x="180" y="342" width="40" height="8" rx="4"/><rect x="268" y="342" width="40" height="8" rx="4"/></g>`;

export const kettlebell: Motif = () => `
  <defs>${gradient('bell', '#3a86c8', '#234e9c')}</defs>
  ${groundShadow(130)}
  <path d="M140 196C96 116 134 62 200 62C266 62 304 116 260 196" fill="none" stroke="#2b2d52" stroke-width="34"
  stroke-linecap="round"/>
  <path d="M118 192H282C330 262 310 350 268 350H132C90 350 70 262 118 192Z" fill="url(#bell)"/>
  <path d="M250 192H282C330 262 310 350 268 350H232C280 320 284 250 250 192Z" fill="#000" opacity=".14"/>
  <circle cx="196" cy="270" r="46" fill="#fff" opacity=".95"/>
  <path d="M206 234l-34 42h22l-6 32l36-44h-22Z" fill="#ff9f1c"/>
  <path d="M112 246q6-22 20-34" stroke="#9fd0f5" stroke-width="10" stroke-linecap="round" fill="none"/>`;

export const bottle: Motif = () => `
  <defs>${gradient('bottle', '#4ad6b8', '#129a8c')}</defs>
  ${groundShadow(80)}
  <rect x="166" y="34" width="68" height="44" rx="12" fill="#2b2d52"/>
  <rect x="144" y="72" width="112" height="34" rx="10" fill="#414479"/>
  <path d="M140 106H260Q274 122 274 146V326Q274 350 250 350H150Q126 350 126 326V146Q126 122 140 106Z"
  fill="url(#bottle)"/>
  <path d="M232 106H260Q274 122 274 146V326Q274 350 250 350H226Z" fill="#000" opacity=".12"/>
  <rect x="126" y="198" width="148" height="76" fill="#fff" opacity=".9"/>
  <path d="M206 204l-26 36h18l-4 28l28-38h-18Z" fill="#ff9f1c"/>
  <path d="M146 140v36" stroke="#c9fff2" stroke-width="9" stroke-linecap="round"/>`;

export const cards: Motif = () => `
  <defs>${gradient('card-a', '#1fb5a0', '#0b6e72')}${gradient('card-b', '#7d5fff', '#4a2fbd')}</defs>
  ${groundShadow(150, 362)}
  <g transform="rotate(-16 200 200)"><rect x="52" y="84" width="290" height="184" rx="24" fill="url(#card-b)"/>
  <circle cx="300" cy="124" r="20" fill="#ff9f9f"/><circle cx="276" cy="124" r="20" fill="#ffd166" opacity=".9"/>
  </g>
  <g transform="rotate(7 200 240)"><rect x="54" y="144" width="300" height="192" rx="24" fill="url(#card-a)"/>
  <path d="M54 286C150 230 240 330 354 244V312Q354 336 330 336H78Q54 336 54 312Z" fill="#fff" opacity=".13"/>
    <rect x="82" y="180" width="56" height="42" rx="9" fill="#ffd166"/>
    <path d="M82 201h56M110 180v42" stroke="#c99a2e" stroke-width="4"/>
    <g fill="#fff" opacity=".92"><rect x="82" y="246" width="44" height="13" rx="6.5"/>
    <rect x="138" y="246" width="44" height="13" rx="6.5"/><rect x="194" y="246" width="44" height="13" rx="6.5"/>
    <rect x="250" y="246" width="44" height="13" rx="6.5"/></g>
    <rect x="82" y="286" width="112" height="11" rx="5.5" fill="#fff" opacity=".6"/>
    <g fill="none" stroke="#fff" stroke-width="7" stroke-linecap="round"><path d="M286 188q12 14 0 28"/>
    <path d="M304 178q20 24 0 48"/></g></g>
  ${sparkle(352, 90, 24, '#fff')}`;

const coin = (x: number, y: number, r: number): string =>
  `<circle cx="${x}" cy="${y}" r="${r}" fill="#ffc93c"/>
    <circle cx="${x}" cy="${y}" r="${r * 0.74}" fill="none" stroke="#e09b1a" stroke-width="${r * 0.12}"/>
    ${sparkle(x, y, r * 0.42, '#fff6d5')}`;

export const piggy: Motif = () => `
  <defs>${gradient('pig', '#ffb3c1', '#f4799a', 'down')}</defs>
  ${groundShadow(150)}
  ${coin(196, 62, 38)}
  <g fill="#e0607f"><rect x="112" y="290" width="46" height="60" rx="14"/>
  <rect x="236" y="290" width="46" height="60" rx="14"/></g>
  <path d="M60 196q-34-6-30-34q22-2 20 16" fill="none" stroke="#e0607f" stroke-width="11" stroke-linecap="round"/>
  <ellipse cx="196" cy="222" rx="142" ry="106" fill="url(#pig)"/>
  <path d="M252 126Q262 84 304 88Q308 126 286 156Z" fill="#e0607f"/>
  <rect x="306" y="196" width="66" height="76" rx="28" fill="#f9a1b6"/>
  <g fill="#b8405f"><ellipse cx="330" cy="234" rx="7" ry="12"/><ellipse cx="352" cy="234" rx="7" ry="12"/></g>
  <circle cx="284" cy="196" r="13" fill="#4a2034"/><circle cx="288" cy="192" r="4" fill="#fff"/>
  <rect x="150" y="126" width="92" height="15" rx="7.5" fill="#b8405f"/>
  <path d="M96 182q20-36 54-44" stroke="#ffdbe3" stroke-width="12" stroke-linecap="round" fill="none"/>
  <path d="M286 262q16 14 34 6" stroke="#b8405f" stroke-width="7" fill="none" stroke-linecap="round"/>`;

export const coins: Motif = () => {
  const stack = (x: number, count: number) =>
    Array.from(
      { length: count },
      (_, i) =>
        `<rect x="${x}" y="${326 - i * 28}" width="96" height="26" rx="11" fill="${i % 2 ? '#ffc93c' : '#f2ac1d'}"/>
          <path d="M${x + 18} ${332 - i * 28}v14M${x + 40} ${332 - i * 28}v14M${x + 62} ${332 - i * 28}v14"
          stroke="#c9820a" stroke-width="5" stroke-linecap="round" opacity=".6"/>`,
    ).join('');
  return `${groundShadow(165, 354)}${stack(42, 3)}${stack(152, 5)}${stack(262, 7)}
    ${leaf(306, 158, 84, 46, -34, '#48ad6d')}${leaf(312, 158, 96, 50, 22, '#2f8f5b')}${coin(92, 214, 30)}`;
};

export const tube: Motif = () => `
  <defs>${gradient('tube', '#fff4ec', '#ffd0c2')}</defs>
  ${groundShadow(90)}
  ${leaf(120, 350, 130, 54, -36, '#5fa777')}${leaf(282, 350, 120, 50, 38, '#4c9467')}
  <path d="M120 66H280L262 296H138Z" fill="url(#tube)"/>
  <path d="M236 66H280L262 296H222Z" fill="#e58f86" opacity=".22"/>
  <rect x="114" y="46" width="172" height="34" rx="7" fill="#f6b3a6"/>
  <path d="M132 50v26M152 50v26M172 50v26M192 50v26M212 50v26M232 50v26M252 50v26M270 50v26" stroke="#e58f86"
  stroke-width="4"/>
  <rect x="140" y="292" width="120" height="58" rx="12" fill="#3d4a5c"/>
  <circle cx="200" cy="176" r="42" fill="#fff"/>
  ${leaf(196, 202, 56, 34, -22, '#5fa777')}${leaf(204, 202, 50, 32, 28, '#3f8f63')}
  <rect x="164" y="240" width="72" height="9" rx="4.5" fill="#e58f86" opacity=".7"/>
  <rect x="176" y="258" width="48" height="8" rx="4" fill="#e58f86" opacity=".45"/>`;
