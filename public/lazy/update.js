// Keeps a copy of this build for when there is no network, and says when a newer one has arrived. Where workers are
// refused the page goes on without.
const { serviceWorker } = navigator;
const notice = document.getElementById('update');
const kept = await serviceWorker.register('offline.js');
const offer = () => { notice.hidden = !(kept.waiting && serviceWorker.controller); };

notice.querySelector('button').onclick = () => kept.waiting.postMessage('begin');
kept.onupdatefound = () => { kept.installing.onstatechange = offer; };
offer();
