// Runs in the preview frame: the SDK shows the offers that the dashboard page sends by `postMessage`. To keep the frame
// isolated, requests get a fixed response, and links and windows do not open.

window.AdConfig = { accountId: 'preview', autoLoad: false, targetElement: '#unit', apiUrl: location.origin };
window.AdUser = { placement: 'preview', pub_user_id: 'preview' };

const sessionId = '00000000-0000-7000-8000-000000000000';
const realFetch = window.fetch.bind(window);
window.fetch = async (url, init) =>
  /\/sdk\/(messages|unit)\./.test(String(url))
    ? realFetch(url, init)
    : new Response(
        JSON.stringify({
          message: '',
          data: {
            session_id: sessionId,
            pub_user_id: 'preview',
            status: 'open',
            selected: [],
            unselected: [],
            wrapped_at: null,
          },
        }),
        {
          status: 200,
          headers: { 'content-type': 'application/json' },
        },
      );
window.open = () => null;
window.addEventListener(
  'click',
  (event) => {
    if (event.composedPath().some((element) => element instanceof HTMLAnchorElement)) event.preventDefault();
  },
  true,
);

// The SDK shows images only from http URLs. Its URL for the selected file is replaced by the data of the file.
let selectedImage = '';
const imageSource = Object.getOwnPropertyDescriptor(HTMLImageElement.prototype, 'src');
Object.defineProperty(HTMLImageElement.prototype, 'src', {
  ...imageSource,
  set(url) {
    imageSource.set.call(this, url === `${location.origin}/selected-image` ? selectedImage : url);
  },
});

let shown = '';

async function show(preview) {
  const text = JSON.stringify(preview);
  if (text === shown || window.Ad === undefined) return;
  shown = text;
  sessionStorage.clear();
  const { selectedImage: image, ...data } = preview;
  selectedImage = image;
  await window.Ad.setApiResponse({
    data: { session_id: sessionId, count: preview.offers.length, privacy_url: location.origin, ...data },
  });
  window.Ad.reload();
}

window.addEventListener('message', ({ origin, source, data }) => {
  if (origin === location.origin && source === window.parent && Array.isArray(data?.offers)) show(data);
});

window.addEventListener('DOMContentLoaded', () => window.parent.postMessage('preview-ready', location.origin));
