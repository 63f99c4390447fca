/**
 * How the unit looks. Values that a theme sets are custom properties (theme.ts). Logical properties throughout, for
 * right-to-left pages.
 */
export const css = `
:host{all:initial;display:block}
*,::before,::after{box-sizing:border-box}
h2,h3,p,ul{margin:0;padding:0}
.frame{--soft:color-mix(in srgb,var(--offerText-textColor) 80%,var(--popup-background));--line:color-mix(in srgb,var(--offerText-textColor) 26%,var(--popup-background));--tint:color-mix(in srgb,var(--offerText-textColor) 6%,var(--popup-background));--ring:color-mix(in srgb,var(--offerText-buttonYes-background) 60%,transparent);position:relative;display:flex;flex-direction:column;padding:0;border:0;color:var(--offerText-textColor);background:var(--popup-background);font:400 var(--s-offerText-fontSizeDescription)/1.5 var(--offerText-font),system-ui,sans-serif;border-radius:var(--popup-borderRadius-top_left) var(--popup-borderRadius-top_right) var(--popup-borderRadius-bottom_right) var(--popup-borderRadius-bottom_left);overflow:hidden;container-type:inline-size;text-align:start;overflow-wrap:break-word}
.embedded.fill{height:100%}
.embedded.border{border:1px solid var(--line)}
.embedded.one:not(.fill){max-width:480px;margin-inline:auto}
dialog.frame{position:fixed;inset:0;margin:auto;width:calc(100vw - 2*var(--s-screen_margin));max-width:440px;max-height:calc(100dvh - 2*var(--s-screen_margin));box-shadow:var(--popup-shadow)}
dialog.many{max-width:980px}
dialog.wide{max-width:680px}
dialog.top{margin-block-start:var(--s-screen_margin)}
dialog.bottom{margin-block-end:var(--s-screen_margin)}
dialog.left{margin-left:var(--s-screen_margin);margin-right:auto}
dialog.right{margin-right:var(--s-screen_margin);margin-left:auto}
dialog::backdrop{background:transparent}
dialog.dark::backdrop{background:var(--popup-lightBox);backdrop-filter:blur(2px)}
.scroll{overflow:auto;overscroll-behavior:contain;flex:1 1 auto;min-height:0}
.header{padding:20px 56px 16px;background:var(--header-background);color:var(--header-textColor);text-align:center}
.many .header{padding-block:26px 8px}
.heading{font-size:var(--header-heading_font_size);line-height:1.25;font-weight:700;letter-spacing:-.01em;text-wrap:balance}
.lead{margin-top:4px;font-size:var(--header-headLineAndLeadInFontSize);line-height:1.4;color:var(--header-lead_in_text_color);text-align:var(--header-lead_in_alignment)}
.close,.back{width:40px;height:40px;border:0;border-radius:50%;padding:0 0 3px;cursor:pointer;color:inherit;font:26px/1 system-ui,sans-serif;background:var(--popup-background)}
.close{position:absolute;inset-block-start:10px;inset-inline-end:10px;z-index:2}
[hidden]{display:none!important}
.footer{padding:12px 20px 14px;text-align:center;color:var(--footer-textColor);font-size:var(--footer-fontSize);line-height:1.5}
.footer a{color:inherit;text-underline-offset:2px}
.footer p+p{margin-top:2px}
.footer a+a::before{content:"·";display:inline-block;margin-inline:6px}
.media{overflow:hidden;background:var(--tint)}
img{display:block;width:100%;height:100%;object-fit:cover}
.offer .media{aspect-ratio:16/9}
.text{padding:20px 24px 4px;text-align:var(--align)}
.brand{font-size:12px;line-height:1.4;font-weight:600;letter-spacing:.04em;color:var(--soft)}
.title{font-size:calc(var(--s-offerText-fontSizeTitle)*1.15);line-height:1.3;font-weight:700;letter-spacing:-.01em;margin-top:4px;text-wrap:balance}
.frame:focus,.title:focus{outline:0}
.description{margin-top:8px;color:var(--soft)}
.short{display:none}
.loyalty{display:flex;gap:8px;margin-top:12px;padding:8px 12px;border-radius:10px;font-size:13px;line-height:1.45;text-align:start;background:color-mix(in srgb,var(--offerText-buttonYes-background) 9%,var(--popup-background))}
.loyalty::before{content:"★"}
.mini{margin-top:10px;font-size:12px;line-height:1.45;color:var(--soft)}
.buttons{display:grid;gap:10px;margin-top:18px}
.btn,.tick{display:flex;place-items:center;place-content:center;gap:10px;min-height:48px;padding:10px 18px;border:1px solid;border-radius:var(--s-offerText-buttonRadius);font:600 var(--offerText-cta_text_size)/1.25 var(--offerText-font),system-ui,sans-serif;text-decoration:none;text-align:center;cursor:pointer;position:relative;overflow:hidden;transition:background .15s}
.yes{background:var(--offerText-buttonYes-background);color:var(--offerText-buttonYes-color);border-color:var(--offerText-buttonYes-stroke)}
.yes:hover{background:var(--offerText-buttonYes-hover)}
.no{background:var(--offerText-buttonNo-background);color:var(--offerText-buttonNo-color);border-color:var(--offerText-buttonNo-stroke)}
.no:hover{background:var(--offerText-buttonNo-hover)}
.bold{font-weight:800}.italic{font-style:italic}.uppercase{text-transform:uppercase}
.shimmer::after{content:"";position:absolute;inset:0;background:linear-gradient(100deg,transparent 30%,rgb(255 255 255/.28) 50%,transparent 70%);translate:-100%;animation:shimmer 3.2s ease-in-out infinite}
@keyframes shimmer{60%,100%{translate:100%}}
.extras{display:flex;flex-wrap:wrap;gap:4px 18px;justify-content:center;margin-top:12px}
.extra,.quiet,summary{border:0;background:none;padding:6px 2px;font:500 13px/1.4 var(--offerText-font),system-ui,sans-serif;color:var(--soft);text-decoration:underline;text-decoration-color:var(--line);text-underline-offset:3px;cursor:pointer;text-align:center}
.extra:hover,.quiet:hover,summary:hover{text-decoration-color:currentColor}
.save[aria-disabled=true]{text-decoration:none}
.terms{margin-top:6px;font-size:12px}
summary{font-size:12px}
.terms-text{margin-top:6px;padding:12px 14px;border-radius:10px;text-align:start;line-height:1.5;max-height:220px;overflow:auto;background:var(--tint)}
.terms-text *+:is(p,ul,ol){margin:.5em 0 0}
.terms-text :is(ul,ol){padding-inline-start:1.3em}
.terms-text a{color:inherit}
.terms-text :is(h4,h5,h6){margin:.6em 0 .2em;font-size:13px}
.progress{display:grid;grid-template-columns:40px 1fr 40px;align-items:center;padding:6px 12px 0;justify-items:center;font-size:12px;color:var(--soft)}
.progress.fixed{position:sticky;bottom:0;background:var(--popup-background)}
.back{background:none}
:is(.close,.back):hover{background:var(--tint)}
.back:dir(rtl){rotate:180deg}
.back:disabled{visibility:hidden}
.marks{display:flex;gap:7px;grid-column:2}
.marks i{width:8px;height:8px;border-radius:8px;background:var(--line);transition:background .15s}
.dots .now{width:22px;background:var(--offerText-buttonYes-background)}
.bar{gap:3px;width:100%}
.bar i{flex:1;height:4px}
.bar .now,.bar .done{background:var(--offerText-buttonYes-background)}
.grid{list-style:none;display:grid;gap:var(--offerwall-mou_tile_gap);padding:16px 20px 8px;grid-template-columns:repeat(auto-fit,minmax(min(240px,100%),1fr))}
.grid.n1{max-width:400px;margin-inline:auto}
.tile{display:flex;flex-direction:column;min-width:0;overflow:hidden;background:var(--offerwall-tile-mou_tile_background_color);border:var(--offerwall-tile-offerwall_mou_border_thickness) solid var(--offerwall-tile-offerwall_mou_border_color);border-radius:var(--offerwall-tile_radius);transition:background .15s}
.tile:hover{background:var(--offerwall-tile-offerwall_mou_tile_background_hover_color)}
.tile.ticked{border-color:var(--offerwall-button-offerwall_mou_button_background);box-shadow:0 0 0 1px var(--offerwall-button-offerwall_mou_button_background)}
.tile .media{aspect-ratio:16/10;flex:none}
.tile .text{display:flex;flex-direction:column;flex:1;padding:14px 16px 12px}
.tile .title{font-size:calc(var(--s-offerText-fontSizeTitle)*.95)}
.tile .description{margin-top:6px}
.tile .buttons{margin-top:auto;padding-top:14px;gap:4px}
.tile .btn,.tick{min-height:44px;font-size:min(var(--offerText-cta_text_size),15px);border-radius:var(--offerText-offerwall_mou_button_radius)}
.tile .yes{background:var(--offerwall-button-offerwall_mou_button_background);color:var(--offerwall-button-offerwall_mou_button_color);border-color:var(--offerwall-button-offerwall_mou_button_stroke)}
.tile .yes:hover{background:var(--offerwall-button-offerwall_mou_button_hover)}
.tile .extras{margin-top:2px;gap:0 16px}
.tick{background:var(--offerwall-tile-mou_tile_background_color);border-color:var(--line)}
.tick:hover{border-color:var(--offerwall-button-offerwall_mou_button_background)}
.ticked .tick{background:color-mix(in srgb,var(--offerwall-button-offerwall_mou_button_background) 9%,var(--offerwall-tile-mou_tile_background_color));border-color:var(--offerwall-button-offerwall_mou_button_background)}
.tick input{appearance:none;flex:none;width:20px;height:20px;margin:0;border:2px solid var(--soft);border-radius:6px;display:grid;place-items:center;background:var(--popup-background);cursor:inherit}
.tick input:checked{background:var(--offerwall-button-offerwall_mou_button_background);border-color:var(--offerwall-button-offerwall_mou_button_background)}
.tick input:checked::after{content:"";width:5px;height:10px;border:solid var(--offerwall-button-offerwall_mou_button_color);border-width:0 2px 2px 0;rotate:45deg;translate:0 -1px}
.tick:has(:disabled){opacity:.75}
:focus-visible{outline:3px solid var(--ring);outline-offset:2px}
.sr{position:absolute;width:1px;height:1px;margin:-1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.enter,dialog.fade{animation:fade .22s}
dialog.slide{animation:slide .28s}
@keyframes fade{from{opacity:0}}
@keyframes slide{from{translate:0 32px}}
@container(min-width:560px){.beside{display:grid;grid-template-columns:42% 1fr}.beside .media{aspect-ratio:auto;min-height:100%}.beside.right .media{order:2}.single .buttons{grid-auto-flow:column;grid-auto-columns:1fr}}
@container(max-width:340px){.short{display:inline}.long{display:none}.text{padding-inline:16px}.header{padding-inline:48px}.grid{padding-inline:12px}}
@media(max-width:480px){dialog.frame{translate:0 calc(-1*var(--mobile-offset))}}
@media(max-height:480px){dialog.frame{display:block;overflow:auto}.scroll{overflow:visible}}
@media(prefers-reduced-motion:reduce){*,::before,::after{animation:none!important;transition:none!important}}
@media(forced-colors:active){.frame{border:1px solid}.tick input{appearance:auto}}
`;
