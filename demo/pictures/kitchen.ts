import { gradient, groundShadow, heart, leaf, type Motif, steam } from './svg.ts';

const tomato = (x: number, y: number, r: number): string =>
  `<circle cx="${x}" cy="${y}" r="${r}" fill="#e5483a"/>
    <path d="M${x - r * 0.55} ${y - r * 0.3}a${r * 0.65} ${r * 0.65} 0 0 1 ${r * 0.5} -${r * 0.4}" stroke="#ff9b8a"
    stroke-width="6" stroke-linecap="round" fill="none"/>`;

export const bowl: Motif = () => `
  <defs>${gradient('bowl', '#2f6f8f', '#1d4a66')}<clipPath id="bowl-shape"><path d="M45 205H355C355 300 290 350 200
  350C110 350 45 300 45 205Z"/>
  </clipPath></defs>
  ${groundShadow(130)}
  ${steam(160, 108)}${steam(215, 96)}${steam(265, 112)}
  <g stroke="#8a4b2a" stroke-width="9" stroke-linecap="round"><path d="M268 195L372 62"/><path d="M292 200L388 84"/></g>
  ${leaf(96, 215, 105, 62, -32, '#4fae5a')}${leaf(120, 215, 120, 66, -10, '#6cc56b')}
  ${leaf(330, 215, 80, 56, 34, '#4fae5a')}
  <circle cx="245" cy="176" r="56" fill="#f7d58b"/><circle cx="215" cy="188" r="40" fill="#fbe6b5"/>
  <circle cx="285" cy="190" r="36" fill="#f2c66a"/>
  ${tomato(150, 180, 37)}${tomato(92, 196, 28)}
  <g><ellipse cx="212" cy="182" rx="48" ry="40" fill="#fffaf0"/><circle cx="214" cy="178" r="20" fill="#ffb52e"/>
  <circle cx="207" cy="171" r="6" fill="#ffe08f"/></g>
  <g fill="#ff8a3c"><circle cx="300" cy="186" r="24"/><circle cx="324" cy="196" r="20"/></g>
  <circle cx="300" cy="186" r="10" fill="#ffb26e"/>
  <g clip-path="url(#bowl-shape)"><rect x="40" y="200" width="320" height="160" fill="url(#bowl)"/>
    <path d="M40 246q20-22 40 0t40 0t40 0t40 0t40 0t40 0t40 0t40 0" stroke="#f4f1e6" stroke-width="9" fill="none"
    opacity=".9"/>
    <path d="M40 272H360" stroke="#f4f1e6" stroke-width="4" opacity=".6"/>
    <path d="M250 360C320 340 350 280 352 200H380V370Z" fill="#000" opacity=".14"/></g>
  <rect x="38" y="196" width="324" height="17" rx="8.5" fill="#3f88ab"/>`;

export const crate: Motif = () => `
  <defs>${gradient('crate', '#e6b377', '#cf8f4c')}</defs>
  ${groundShadow(150)}
  <g transform="rotate(16 300 190)"><rect x="272" y="48" width="52" height="190" rx="26" fill="#d98a3d"/>
  <g stroke="#f6c98a" stroke-width="7" stroke-linecap="round"><path d="M284 92l28 16"/><path d="M284 126l28 16"/>
  <path d="M284 160l28 16"/></g></g>
  ${leaf(120, 220, 170, 66, -24, '#3f9a52')}${leaf(140, 220, 185, 70, -6, '#58b765')}
  ${leaf(100, 220, 130, 60, -44, '#72ca76')}
  <g><path d="M188 96l24 130h-50Z" fill="#ff8a3c" transform="rotate(180 187 160)"/>
  ${leaf(176, 98, 60, 24, -24, '#4fae5a')}${leaf(186, 98, 72, 24, 0, '#6cc56b')}${leaf(196, 98, 60, 24, 26, '#4fae5a')}
    <g stroke="#e56e1f" stroke-width="5" stroke-linecap="round"><path d="M168 130h18"/><path d="M190 158h14"/></g></g>
  ${tomato(238, 192, 36)}${tomato(128, 204, 30)}
  <circle cx="282" cy="200" r="30" fill="#8e5aa8"/>
  <path d="M282 170q4-16 14-18" stroke="#5b8f3c" stroke-width="7" stroke-linecap="round" fill="none"/>
  <path d="M64 210L28 258L52 276L82 236Z" fill="#c98743"/><path d="M336 210L372 258L348 276L318 236Z" fill="#b97735"/>
  <rect x="64" y="208" width="272" height="142" rx="8" fill="url(#crate)"/>
  <rect x="64" y="208" width="272" height="16" rx="8" fill="#f3cb98"/>
  <circle cx="200" cy="288" r="42" fill="#fff6e6"/>
  ${leaf(196, 314, 56, 34, -22, '#58b765')}${leaf(204, 314, 50, 32, 28, '#3f9a52')}
  <g fill="#a9682b" opacity=".55"><rect x="84" y="322" width="34" height="8" rx="4"/>
  <rect x="282" y="322" width="34" height="8" rx="4"/></g>`;

export const cup: Motif = () => `
  <defs>${gradient('cup', '#fffaf2', '#e9d6bf')}</defs>
  ${groundShadow(165, 358)}
  ${steam(160, 130)}${steam(204, 118)}${steam(248, 130)}
  <ellipse cx="200" cy="336" rx="168" ry="24" fill="#d9b48c"/>
  <ellipse cx="200" cy="330" rx="168" ry="22" fill="#f7e7d2"/>
  <ellipse cx="200" cy="331" rx="82" ry="10" fill="#d9b48c"/>
  <path d="M296 190c64-16 78 72-18 76" fill="none" stroke="#ecd9c2" stroke-width="22" stroke-linecap="round"/>
  <path d="M86 168C86 270 130 332 200 332C270 332 314 270 314 168Z" fill="url(#cup)"/>
  <path d="M240 326C288 308 310 250 314 168H292C290 250 276 300 240 326Z" fill="#c9a77f" opacity=".4"/>
  <ellipse cx="200" cy="168" rx="114" ry="28" fill="#fff"/><ellipse cx="200" cy="170" rx="100" ry="21" fill="#6b3a1e"/>
  <ellipse cx="200" cy="171" rx="72" ry="14" fill="#c98b52"/>
  <g transform="translate(200 168) scale(1 .42)">${heart(0, 0, 1.05, '#fff1dc')}</g>
  ${heart(190, 244, 0.95, '#e2703a')}`;

const bean = (x: number, y: number, angle: number, scale = 1): string =>
  `<g transform="translate(${x} ${y}) rotate(${angle}) scale(${scale})"><ellipse rx="17" ry="25" fill="#5a2f18"/>
    <path d="M0-24q-13 14 0 24t0 24" stroke="#2f170a" stroke-width="5" fill="none" stroke-linecap="round"/></g>`;

export const coffeeBag: Motif = () => `
  <defs>${gradient('bag', '#20705f', '#0f4a44')}</defs>
  ${groundShadow(140)}
  <path d="M104 76H296L312 332Q313 350 294 350H106Q87 350 88 332Z" fill="url(#bag)"/>
  <path d="M250 76H296L312 332Q313 350 294 350H240Q262 200 250 76Z" fill="#000" opacity=".13"/>
  <rect x="98" y="50" width="204" height="42" rx="8" fill="#ef8a4b"/>
  <path d="M98 72H302" stroke="#c9652b" stroke-width="5" stroke-dasharray="10 9"/>
  <circle cx="200" cy="208" r="68" fill="#fff3df"/>${bean(200, 208, 26, 1.9)}
  <rect x="140" y="300" width="120" height="11" rx="5.5" fill="#fff3df" opacity=".8"/>
  <rect x="164" y="320" width="72" height="9" rx="4.5" fill="#fff3df" opacity=".5"/>
  ${bean(64, 330, 58)}${bean(336, 334, -40)}${bean(362, 306, 24, 0.85)}${bean(34, 346, 82, 0.8)}`;

export const icedGlass: Motif = () => `
  <defs><clipPath id="glass"><path d="M118 120H282L264 338Q263 350 250 350H150Q137 350 136 338Z"/></clipPath>
  ${gradient('iced', '#f3d2a2', '#6b3a1e', 'down')}</defs>
  ${groundShadow(96)}
  <path d="M226 150L262 32H300" stroke="#ef5d60" stroke-width="13" fill="none" stroke-linecap="round"
  stroke-linejoin="round"/>
  <g clip-path="url(#glass)"><rect x="110" y="110" width="180" height="250" fill="#fff" opacity=".55"/>
  <rect x="110" y="158" width="180" height="200" fill="url(#iced)"/>
    <g fill="#fff" opacity=".55"><rect x="140" y="146" width="48" height="48" rx="10" transform="rotate(14 164 170)"/>
    <rect x="206" y="156" width="46" height="46" rx="10" transform="rotate(-16 229 179)"/>
    <rect x="168" y="202" width="46" height="46" rx="10" transform="rotate(32 191 225)"/></g>
    <path d="M128 110L146 350H164L150 110Z" fill="#fff" opacity=".4"/></g>
  <path d="M118 120H282" stroke="#fff" stroke-width="9" stroke-linecap="round"/>`;

export const stockpot: Motif = () => `
  <defs>${gradient('stockpot', '#f2604f', '#c8323f')}</defs>
  ${groundShadow(140)}
  ${steam(150, 92)}${steam(254, 92)}
  <g fill="none" stroke="#8f2230" stroke-width="18" stroke-linecap="round"><path d="M84 214H48Q32 214 32 230V240"/>
  <path d="M316 214H352Q368 214 368 230V240"/></g>
  <path d="M78 182H322V306Q322 350 278 350H122Q78 350 78 306Z" fill="url(#stockpot)"/>
  <path d="M268 182H322V306Q322 350 278 350H246Q268 320 268 182Z" fill="#000" opacity=".12"/>
  <path d="M82 172C90 116 144 106 200 106S310 116 318 172Z" fill="#f4877a"/>
  <rect x="66" y="166" width="268" height="24" rx="12" fill="#ffb0a3"/>
  <rect x="176" y="80" width="48" height="30" rx="13" fill="#5a2130"/>
  <path d="M104 220v74" stroke="#ff9d8f" stroke-width="12" stroke-linecap="round"/>
  <circle cx="200" cy="268" r="42" fill="#fff6e6"/>
  ${leaf(196, 294, 56, 34, -22, '#58b765')}${leaf(204, 294, 50, 32, 28, '#3f9a52')}`;
