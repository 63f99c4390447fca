// Loaded in the web views of the demo's phone: the object that an Android app adds to a page, which gets every event.
window.Android = {
  adCallback: (event, json) => window.parent.postMessage({ event, payload: JSON.parse(json) }, window.location.origin),
};
