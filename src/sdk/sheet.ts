/** How the unit looks. Values that a theme sets are custom properties (theme.ts). Logical properties throughout, for right-to-left pages. */
export const css = `
:host{all:initial;display:block}
*,::before,::after{box-sizing:border-box}
h2,h3,p,ul{margin:0;padding:0}
.frame{position:relative;display:flex;flex-direction:column;padding:0;border:0;color:var(--color);background:var(--background);font:400 var(--text-size)/1.5 var(--font);border-radius:var(--radius);overflow:hidden;container-type:inline-size;text-align:start;-webkit-font-smoothing:antialiased;overflow-wrap:break-word}
.frame:focus{outline:0}
.embedded{width:100%}
.embedded.fill{min-height:100%;height:100%}
.embedded.border{border:1px solid color-mix(in srgb,var(--color) 14%,transparent)}
.embedded.one:not(.fill){max-width:480px;margin-inline:auto}
dialog.frame{position:fixed;inset:0;margin:auto;width:calc(100vw - 2*var(--margin));max-width:440px;max-height:calc(100dvh - 2*var(--margin));box-shadow:var(--shadow)}
dialog.frame:not([open]){display:none}
dialog.many{max-width:980px}
dialog.wide{max-width:680px}
dialog.top{margin-block-start:var(--margin)}
dialog.bottom{margin-block-end:var(--margin)}
dialog.left{margin-left:var(--margin);margin-right:auto}
dialog.right{margin-right:var(--margin);margin-left:auto}
dialog::backdrop{background:transparent}
dialog.dark::backdrop{background:var(--backdrop)}
@supports((backdrop-filter:blur(2px))){dialog.dark::backdrop{backdrop-filter:blur(2px)}}
.scroll{overflow:auto;overscroll-behavior:contain;flex:1 1 auto;min-height:0}
.scroll:focus-visible{outline-offset:-3px}
.header{flex:none;padding:20px 56px 16px;background:var(--header-background);color:var(--header-color);text-align:center}
.many .header{padding-block:26px 8px}
.heading{font-size:var(--header-size);line-height:1.25;font-weight:700;letter-spacing:-.01em;text-wrap:balance}
.heading:focus{outline:0}
.lead{margin-top:4px;font-size:var(--lead-size);line-height:1.4;color:var(--lead-color);text-align:var(--lead-align)}
.close{position:absolute;inset-block-start:10px;inset-inline-end:10px;z-index:2;width:40px;height:40px;border:0;border-radius:50%;padding:0;cursor:pointer;color:inherit;background:color-mix(in srgb,var(--background) 88%,transparent);display:grid;place-items:center;transition:background .15s}
.close:hover{background:color-mix(in srgb,var(--color) 10%,var(--background))}
.close::before,.close::after{content:"";grid-area:1/1;width:16px;height:2px;border-radius:2px;background:currentColor;rotate:45deg}
.close::after{rotate:-45deg}
[hidden]{display:none!important}
.footer{flex:none;padding:12px 20px 14px;text-align:center;color:var(--footer-color);font-size:var(--footer-size);line-height:1.5}
.footer a{color:inherit;text-underline-offset:2px}
.footer p+p{margin-top:2px}
.footer span+a::before,.footer a+span::before,.footer a+a::before{content:"·";display:inline-block;margin-inline:6px;text-decoration:none}
.media{overflow:hidden;background:color-mix(in srgb,var(--color) 6%,var(--background))}
img{display:block;width:100%;height:100%;object-fit:cover}
.offer .media{aspect-ratio:16/9}
.text{padding:20px 24px 4px;text-align:var(--align)}
.brand{font-size:12px;line-height:1.4;font-weight:600;letter-spacing:.04em;color:color-mix(in srgb,var(--color) 76%,var(--background))}
.title{font-size:calc(var(--title-size)*1.15);line-height:1.28;font-weight:700;letter-spacing:-.01em;margin-top:4px;text-wrap:balance}
.title:focus{outline:0}
.description{margin-top:8px;color:color-mix(in srgb,var(--color) 86%,var(--background))}
.short{display:none}
.loyalty{display:flex;gap:8px;margin-top:12px;padding:8px 12px;border-radius:10px;font-size:13px;line-height:1.45;text-align:start;background:color-mix(in srgb,var(--yes-background) 9%,var(--background))}
.loyalty::before{content:"★";color:var(--yes-background)}
.mini{margin-top:10px;font-size:12px;line-height:1.45;color:color-mix(in srgb,var(--color) 76%,var(--background))}
.buttons{display:grid;gap:10px;margin-top:18px}
.btn,.tick{display:flex;align-items:center;justify-content:center;gap:10px;min-height:48px;padding:10px 18px;border:1px solid;border-radius:var(--button-radius);font:600 var(--cta-size)/1.25 var(--font);text-decoration:none;text-align:center;cursor:pointer;position:relative;overflow:hidden;transition:background .15s,border-color .15s,transform .1s}
.btn:active{transform:scale(.985)}
.yes{background:var(--yes-background);color:var(--yes-color);border-color:var(--yes-stroke)}
.yes:hover{background:var(--yes-hover)}
.no{background:var(--no-background);color:var(--no-color);border-color:var(--no-stroke)}
.no:hover{background:var(--no-hover)}
.bold{font-weight:800}.italic{font-style:italic}.uppercase{text-transform:uppercase}
.shimmer::after{content:"";position:absolute;inset:0;background:linear-gradient(100deg,transparent 30%,rgb(255 255 255/.28) 50%,transparent 70%);translate:-100%;animation:shimmer 3.2s ease-in-out infinite}
@keyframes shimmer{60%,100%{translate:100%}}
.extras{display:flex;flex-wrap:wrap;gap:4px 18px;justify-content:center;margin-top:12px}
.extra,.quiet,summary{border:0;background:none;padding:6px 2px;font:500 13px/1.4 var(--font);color:color-mix(in srgb,var(--color) 84%,var(--background));text-decoration:underline;text-decoration-color:color-mix(in srgb,var(--color) 35%,transparent);text-underline-offset:3px;cursor:pointer;text-align:center}
.extra:hover,.quiet:hover,summary:hover{text-decoration-color:currentColor}
.save[aria-disabled=true]{cursor:default;text-decoration:none}
.terms{margin-top:6px;font-size:12px}
summary{font-size:12px;list-style:none;display:inline-flex;align-items:center;gap:6px}
summary::-webkit-details-marker{display:none}
summary::after{content:"";width:6px;height:6px;border:solid;border-width:0 1.5px 1.5px 0;rotate:45deg;translate:0 -2px;transition:rotate .15s}
[open]>summary::after{rotate:225deg;translate:0 1px}
.terms-text{margin-top:6px;padding:12px 14px;border-radius:10px;text-align:start;line-height:1.5;max-height:220px;overflow:auto;background:color-mix(in srgb,var(--color) 4%,var(--background))}
.terms-text p+p,.terms-text ul,.terms-text ol{margin:.5em 0 0;padding-inline-start:1.3em}
.terms-text p+p{padding:0}
.terms-text a{color:inherit}
.terms-text h4,.terms-text h5,.terms-text h6{margin:.6em 0 .2em;font-size:13px}
.terms-text table{border-collapse:collapse}.terms-text td,.terms-text th{border:1px solid color-mix(in srgb,var(--color) 20%,transparent);padding:2px 6px;text-align:start}
.progress{display:grid;grid-template-columns:40px 1fr 40px;align-items:center;padding:6px 12px 0;justify-items:center;font-size:12px;color:color-mix(in srgb,var(--color) 80%,var(--background))}
.progress.fixed{position:sticky;bottom:0;background:var(--background)}
.back{width:40px;height:40px;border:0;border-radius:50%;background:none;color:inherit;cursor:pointer;display:grid;place-items:center}
.back:hover{background:color-mix(in srgb,var(--color) 7%,transparent)}
.back::before{content:"";width:9px;height:9px;border:solid;border-width:0 0 2px 2px;rotate:45deg;translate:2px}
:dir(rtl).back::before{rotate:225deg;translate:-2px}
.back:disabled{visibility:hidden}
.marks{display:flex;gap:7px;grid-column:2}
.marks i{width:8px;height:8px;border-radius:8px;background:color-mix(in srgb,var(--color) 24%,var(--background));transition:width .2s,background .2s}
.dots .now{width:22px;background:var(--yes-background)}
.bar{gap:3px;width:100%}
.bar i{flex:1;height:4px}
.bar .now,.bar .done{background:var(--yes-background)}
.grid{list-style:none;display:grid;gap:var(--gap);padding:16px 20px 8px;grid-template-columns:repeat(auto-fit,minmax(min(240px,100%),1fr))}
.embedded .grid{padding-inline:16px}
.grid.n1{max-width:400px;margin-inline:auto}
.tile{display:flex;flex-direction:column;min-width:0;overflow:hidden;background:var(--tile-background);border:var(--tile-border);border-radius:var(--tile-radius);transition:background .15s,box-shadow .15s,border-color .15s}
.tile:hover{background:var(--tile-hover)}
.tile.ticked{border-color:var(--tile-yes-background);box-shadow:0 0 0 1px var(--tile-yes-background)}
.tile .media{aspect-ratio:16/10;flex:none}
.tile .text{display:flex;flex-direction:column;flex:1;padding:14px 16px 12px}
.tile .title{font-size:calc(var(--title-size)*.95)}
.tile .description{margin-top:6px}
.tile .buttons{margin-top:auto;padding-top:14px;gap:4px}
.tile .btn,.tick{min-height:44px;font-size:min(var(--cta-size),15px);border-radius:var(--tile-button-radius)}
.tile .yes{background:var(--tile-yes-background);color:var(--tile-yes-color);border-color:var(--tile-yes-stroke)}
.tile .yes:hover{background:var(--tile-yes-hover)}
.tile .extras{margin-top:2px;gap:0 16px}
.tick{background:var(--tile-background);border-color:color-mix(in srgb,var(--color) 26%,transparent);color:var(--color)}
.tick:hover{border-color:var(--tile-yes-background)}
.ticked .tick{background:color-mix(in srgb,var(--tile-yes-background) 9%,var(--tile-background));border-color:var(--tile-yes-background)}
.tick input{appearance:none;flex:none;width:20px;height:20px;margin:0;border:2px solid color-mix(in srgb,var(--color) 50%,transparent);border-radius:6px;display:grid;place-items:center;background:var(--background);cursor:inherit}
.tick input:checked{background:var(--tile-yes-background);border-color:var(--tile-yes-background)}
.tick input:checked::after{content:"";width:5px;height:10px;border:solid var(--tile-yes-color);border-width:0 2px 2px 0;rotate:45deg;translate:0 -1px}
.tick:has(input:focus-visible){outline:3px solid color-mix(in srgb,var(--tile-yes-background) 60%,transparent);outline-offset:2px}
.tick input:focus{outline:0}
.tick:has(:disabled){cursor:default;opacity:.75}
:focus-visible{outline:3px solid color-mix(in srgb,var(--yes-background) 60%,transparent);outline-offset:2px}
.sr{position:absolute;width:1px;height:1px;margin:-1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
dialog.fade[open]{animation:fade .22s ease-out}
dialog.zoom[open]{animation:zoom .22s ease-out}
dialog.slide[open]{animation:slide .28s cubic-bezier(.2,.8,.2,1)}
.offer.enter{animation:fade .2s ease-out}
@keyframes fade{from{opacity:0}}
@keyframes zoom{from{opacity:0;scale:.96}}
@keyframes slide{from{opacity:0;translate:0 32px}}
@container(min-width:560px){.beside{display:grid;grid-template-columns:42% 1fr}.beside .media{aspect-ratio:auto;min-height:100%}.beside.right .media{order:2}.single .buttons{grid-auto-flow:column;grid-auto-columns:1fr}}
@container(max-width:340px){.short{display:inline}.long{display:none}.text{padding-inline:16px}.header{padding-inline:48px}.grid{padding-inline:12px}}
@media(max-width:480px){dialog.frame{translate:0 calc(-1*var(--mobile-offset))}}
@media(prefers-reduced-motion:reduce){*,::before,::after{animation:none!important;transition:none!important}}
@media(forced-colors:active){.btn,.tick,.tile,.frame{border:1px solid}.tick input{appearance:auto}}
`;
