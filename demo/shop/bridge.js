// Loaded in the web views of the demo's phone: the object that an Android app adds to a page, which gets every event.
window.Android = {
  adCallback: (event, json) => window.parent.postMessage({ event, payload: JSON.parse(json) }, window.location.origin),
};

// Its navigation delegate: the app opened the link when it heard `url_clicked`, so its web view does not follow it.
window.addEventListener('click', (event) => {
  if (event.composedPath().some((element) => element instanceof HTMLAnchorElement)) event.preventDefault();
});
