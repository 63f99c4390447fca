import { styleDirectives } from '../../catalog/themes.ts';

/** CSS rules for the offerwall page, in addition to those for all hosted pages. */
export const rules = `
#wall{
  max-width:76rem;margin:0 auto;padding:clamp(.75rem,3vw,2rem);
  padding-bottom:calc(2rem + env(safe-area-inset-bottom))
}
h1{margin-inline-end:auto}
.head{display:flex;flex-wrap:wrap;align-items:center;gap:.75rem 1rem}
.logo{max-height:2.5rem;max-width:9rem}
input{
  flex:1 1 14rem;max-width:22rem;min-height:2.75rem;padding:.5rem 1rem;border:1px solid var(--line);
  border-radius:1.5rem;background:var(--tile);color:inherit;font:inherit
}
input::placeholder{color:var(--quiet);opacity:1}
.chips{display:flex;gap:.5rem;overflow-x:auto;margin:.75rem -.25rem;padding:.25rem;scrollbar-width:none}
.chips:empty{display:none}
.chip{
  flex:none;min-height:2.75rem;padding:.25rem 1rem;border:1px solid var(--line);border-radius:1.5rem;
  background:var(--tile);color:var(--text);font:inherit;font-size:.9375rem;cursor:pointer
}
.chip::first-letter{text-transform:uppercase}
.chip:hover{background:var(--tile-hover)}
.chip[aria-pressed=true]{border-color:var(--text);background:var(--text);color:var(--surface)}
.featured,.grid{display:grid;gap:var(--gap)}
.featured{
  grid-auto-flow:column;grid-auto-columns:minmax(min(80%,19rem),1fr);overflow-x:auto;
  scroll-snap-type:x proximity;margin:0 -.25rem var(--gap);padding:.25rem
}
.featured[hidden]{display:none}
.featured .tile{scroll-snap-align:start}
.grid{grid-template-columns:repeat(auto-fill,minmax(min(100%,15rem),1fr))}
.tile{transition:background .15s,box-shadow .15s}
.tile:hover{background:var(--tile-hover);box-shadow:0 6px 20px rgb(0 0 0/.08)}
.featured .media{aspect-ratio:16/9}
.tile .actions{align-items:stretch}
.words{font-size:.9375rem}
.name{all:unset;text-align:-webkit-match-parent;text-align:match-parent;cursor:pointer;font-weight:650}
.status{min-height:1.5rem;margin:1.25rem 0;text-align:center;color:var(--quiet)}
.status .button{margin-inline-start:.75rem;color:var(--text)}
.more{display:flex;margin:0 auto}
.more[hidden]{display:none}
.foot{margin-top:1rem;text-align:center;font-size:.875rem}
.foot a{display:inline-block;padding:.75rem;color:var(--quiet)}
.name:focus-visible{outline:2px solid var(--text);outline-offset:2px}
dialog{
  width:min(34rem,calc(100vw - 1.5rem));max-height:calc(100dvh - 1.5rem);padding:0;border:0;
  border-radius:calc(var(--tile-radius) + 4px);background:var(--surface);color:var(--text);overflow:auto
}
dialog::backdrop{background:rgb(10 12 18/.6)}
dialog h2{font-size:1.25rem}
dialog h2:focus-visible{outline:0;box-shadow:none}
dialog .media{aspect-ratio:2/1}
dialog .text{padding:1.25rem;gap:.625rem}
dialog .button{flex:1 0 auto;max-width:100%}
dialog .main{flex:9 1 12rem}
.loyalty{
  padding:.5rem .75rem;border-radius:.5rem;background:color-mix(in srgb,var(--action) 10%,var(--surface));
  font-size:.875rem
}
.plain{position:fixed;z-index:2;top:50%;left:50%;transform:translate(-50%,-50%)}
.shade{position:fixed;z-index:1;top:0;right:0;bottom:0;left:0;background:rgba(10,12,18,.6)}
@supports not (width:min(1px,2px)){
.featured{grid-auto-columns:minmax(19rem,1fr)}
.grid{grid-template-columns:repeat(auto-fill,minmax(15rem,1fr))}
dialog{width:calc(100vw - 1.5rem);max-width:34rem}
}
@supports not (height:1dvh){dialog{max-height:calc(100vh - 1.5rem)}}
@supports not (aspect-ratio:1){.media::before,.media::after{grid-area:1/1}.media::after{content:"";padding-top:56.25%}}
@supports not (color:color-mix(in srgb,red,red)){.loyalty{background:rgba(128,128,128,.12)}}
@supports not (inset:0){.chip,.head>*{margin:0 .5rem .5rem 0}.tile .actions>*,dialog .actions>*{margin:.25rem}}
`;

/**
 * Returns the HTTP headers for the offerwall page. Only the page's own script can run. Images and advertisers' beacons
 * may come from any origin. If the publisher lists hosts, only these may embed the page in a frame. Without a list, any
 * site may frame a page that was opened with the public SDK ID, but no site may frame a user's signed link.
 */
export const pageHeaders = (
  publicUrl: string,
  { frameHosts, signed, style }: { frameHosts: readonly string[]; signed: boolean; style: string },
): Record<string, string> => ({
  'content-security-policy': [
    "default-src 'none'",
    `script-src 'self' ${publicUrl}`,
    ...styleDirectives(style),
    `img-src 'self' ${publicUrl} https: data:`,
    `connect-src 'self' ${publicUrl} https:`,
    "base-uri 'none'",
    "form-action 'none'",
    ...frameAncestors(frameHosts, signed),
  ].join('; '),
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex, nofollow',
});

/**
 * Returns the frame-ancestors directive, or no directive if any page may frame the offerwall. Without the directive,
 * app pages (`file:`, `capacitor:`) may frame it as well, which a list of hosts could not allow.
 */
function frameAncestors(frameHosts: readonly string[], signed: boolean): string[] {
  if (frameHosts.length > 0) return [`frame-ancestors 'self' ${frameHosts.join(' ')}`];
  return signed ? ["frame-ancestors 'none'"] : [];
}
