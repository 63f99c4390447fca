// In a web view of the demo's phone: the object that an Android app adds to the page. It hands every event to the app.
window.Android = {
  adCallback: (event, json) => window.parent.postMessage({ event, payload: JSON.parse(json) }, window.location.origin),
};
