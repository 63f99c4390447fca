import { hash } from 'node:crypto';

/** Style sheet of the offerwall's page; its script sets the colours of tiles to the publisher's. */
export const style = `
:root{
  color-scheme:light;--page:#f4f5f7;--text:#1f2430;--quiet:#5b6270;--line:#d5d9e2;--focus:#1b66c9;
  --action:#2557d6;--on-action:#fff;--action-hover:#1d46ad;--action-edge:#2557d6;--tile:#fff;
  --tile-hover:#f7f8fb;--tile-edge:#e2e5ec;--tile-edge-width:1px;--tile-radius:12px;--tile-text:#1f2430;
  --gap:16px;--button-radius:8px
}
*{box-sizing:border-box}
body{
  margin:0;background:var(--page);color:var(--text);
  font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:anywhere
}
#wall{
  max-width:76rem;margin:0 auto;padding:clamp(.75rem,3vw,2rem);
  padding-bottom:calc(2rem + env(safe-area-inset-bottom))
}
h1,h2,p{margin:0}
h1{font-size:clamp(1.375rem,4vw,1.875rem);line-height:1.2;margin-right:auto;letter-spacing:-.01em}
h2{font-size:1.0625rem;line-height:1.3}
.sr{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.head{display:flex;flex-wrap:wrap;align-items:center;gap:.75rem 1rem}
.logo{max-height:2.5rem;max-width:9rem}
input{
  flex:1 1 14rem;max-width:22rem;min-height:2.75rem;padding:.5rem .875rem;border:1px solid var(--line);
  border-radius:1.5rem;background:#fff;color:inherit;font:inherit
}
.chips{display:flex;gap:.5rem;overflow-x:auto;margin:1rem 0;scrollbar-width:none}
.chips:empty{display:none}
.chip{
  flex:none;min-height:2.5rem;padding:.25rem 1rem;border:1px solid var(--line);border-radius:1.25rem;
  background:#fff;color:var(--text);font:inherit;font-size:.9375rem;cursor:pointer
}
.chip::first-letter{text-transform:uppercase}
.chip[aria-pressed=true]{border-color:var(--text);background:var(--text);color:#fff}
ul{list-style:none;margin:0;padding:0;display:grid;gap:var(--gap)}
.featured{
  grid-auto-flow:column;grid-auto-columns:minmax(min(80%,19rem),1fr);overflow-x:auto;
  scroll-snap-type:x proximity;margin:1rem 0 var(--gap);padding-bottom:.25rem
}
.featured[hidden]{display:none}
.featured .tile{scroll-snap-align:start}
.grid{grid-template-columns:repeat(auto-fill,minmax(min(100%,15rem),1fr))}
.tile{
  position:relative;display:flex;flex-direction:column;min-width:0;overflow:hidden;background:var(--tile);
  color:var(--tile-text);border:var(--tile-edge-width) solid var(--tile-edge);
  border-radius:var(--tile-radius);transition:background .15s,box-shadow .15s
}
.tile:hover{background:var(--tile-hover);box-shadow:0 6px 20px rgb(0 0 0/.08)}
.picture{aspect-ratio:16/10;background:linear-gradient(135deg,#e9ecf3,#dfe4ee);overflow:hidden}
.picture:empty{aspect-ratio:auto;height:.5rem}
.featured .picture{aspect-ratio:16/9}
.picture img{display:block;width:100%;height:100%;object-fit:cover}
.text{display:flex;flex:1;flex-direction:column;gap:.375rem;padding:1rem}
.brand,.quiet{color:var(--quiet);font-size:.875rem}
.words{font-size:.9375rem}
.name{all:unset;cursor:pointer;font-weight:650}
.actions{display:flex;flex-wrap:wrap;gap:.5rem;margin-top:auto;padding-top:.625rem}
.button{
  display:inline-flex;align-items:center;justify-content:center;min-height:2.75rem;padding:.5rem 1rem;
  border:1px solid var(--line);border-radius:var(--button-radius);background:#fff;color:var(--text);
  font:inherit;text-align:center;text-decoration:none;cursor:pointer
}
.button:hover{border-color:currentColor}
.button:disabled{opacity:.7;cursor:default}
.main{flex:1;border-color:var(--action-edge);background:var(--action);color:var(--on-action);font-weight:600}
.main:hover{background:var(--action-hover)}
.status{min-height:1.5rem;margin:1.25rem 0;text-align:center;color:var(--quiet)}
.more{display:flex;margin:0 auto}
.more[hidden]{display:none}
.foot{margin-top:1.5rem;text-align:center;font-size:.875rem}
.foot a{color:var(--quiet)}
:focus-visible,.name:focus-visible{outline:3px solid var(--focus);outline-offset:2px}
dialog{
  width:min(34rem,calc(100vw - 1.5rem));max-height:calc(100dvh - 1.5rem);padding:0;border:0;
  border-radius:1rem;color:var(--text);overflow:auto
}
dialog::backdrop{background:rgb(15 18 26/.55)}
dialog h2:focus-visible{outline:0}
dialog .picture{aspect-ratio:2/1}
dialog .text{padding:1.25rem;gap:.625rem}
dialog .button{flex:1 0 auto;max-width:100%}
dialog .main{flex:9 1 12rem}
.loyalty{padding:.5rem .75rem;border-radius:.5rem;background:#eef7f1}
summary{cursor:pointer;color:var(--quiet);padding:.25rem 0}
.terms{max-height:14rem;overflow:auto;font-size:.875rem}
@media(prefers-reduced-motion:reduce){*{transition:none!important;scroll-behavior:auto!important}}
`;

const styleHash = hash('sha256', style, 'base64');

/**
 * Headers of the offerwall's page. Only its own script runs in it; images and advertisers' beacons may be
 * anywhere. Only the publisher's hosts may frame it.
 */
export const pageHeaders = (publicUrl: string, frameHosts: readonly string[]): Record<string, string> => ({
  'content-security-policy': [
    "default-src 'none'",
    `script-src 'self' ${publicUrl}`,
    `style-src 'sha256-${styleHash}'`,
    `img-src 'self' ${publicUrl} https: data:`,
    `connect-src 'self' ${publicUrl} https:`,
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${frameHosts.length === 0 ? "'none'" : `'self' ${frameHosts.join(' ')}`}`,
  ].join('; '),
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex, nofollow',
});
