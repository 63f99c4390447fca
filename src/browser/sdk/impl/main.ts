import { installOldNames } from '../legacy-names.ts';

/*
 * `launcher.impl.js`, used with `launcher.native.min.js`: a replaceable template for pages that draw their unit
 * themselves, and its element if the page has none (docs/guides/web.md#pages-that-show-their-own-template).
 */

/** Default template, with the class names that the style sheets of these pages use. */
const template = `<div class="adpx_modal">
<button type="button" class="adpx_close-icon" data-ad-action="close" aria-label="Close">×</button>
<div class="adpx_image-container"><img class="adpx_image" data-ad="image" alt=""></div>
<h2 class="adpx_headline" data-ad="title"></h2>
<p class="adpx_description" data-ad="description"></p>
<div class="adpx_button-container">
<button type="button" class="adpx_cta-yes" data-ad="cta_yes" data-ad-action="take"></button>
<button type="button" class="adpx_cta-no" data-ad="cta_no" data-ad-action="reject"></button>
</div></div>`;

installOldNames(window as unknown as Record<string, unknown>);
window.AdConfig ??= {};
const config = window.AdConfig;
config.targetElement ??= 'adpx_box';
config.template ??= template;
config.render ??= () => {}; // show one offer after another

const { targetElement: id } = config;
if (typeof id === 'string' && /^[\w-]+$/.test(id) && document.getElementById(id) === null) {
  const box = document.createElement('div');
  box.id = id;
  document.body.append(box);
}
