// The connection to Python: one message under way at a time, of those that wait the newest wins.

/** Milliseconds before a lost connection is tried again, doubled each time up to the second number. */
const RETRY = [500, 8000];
/** Stages after which the next message may be sent. */
const FREE = new Set(["preview", "done", "failed", "stopped"]);

/**
 * @param {(answer: object) => void} hear    called with every answer that is not older than the last one
 * @param {(open: boolean) => void} changed  called when the connection opens or is lost
 */
export function connect(hear, changed) {
  let socket = null, number = 0, newest = -1, underWay = false, waiting = null, wait = RETRY[0];

  function open() {
    socket = new WebSocket(`ws://${location.host}/talk`);
    socket.addEventListener("open", () => { wait = RETRY[0]; underWay = false; changed(true); });
    socket.addEventListener("message", (event) => receive(JSON.parse(event.data)));
    socket.addEventListener("close", () => {
      changed(false);
      setTimeout(open, wait);
      wait = Math.min(2 * wait, RETRY[1]);
    });
  }

  function receive(answer) {
    if (FREE.has(answer.stage)) {
      underWay = false;
      if (waiting) post(waiting);
    }
    if (answer.id !== null && answer.id < newest) return; // an old answer, overtaken
    if (answer.id !== null && answer.stage !== "hello") newest = answer.id;
    hear(answer);
  }

  function post(message) {
    waiting = null;
    underWay = true;
    socket.send(JSON.stringify(message));
  }

  open();
  return {
    /**
     * Sends a state, or keeps it until the present preview is here; a newer one takes its place. Returns its
     * number.
     */
    propose(message) {
      const numbered = { id: (number += 1), ...message };
      if (socket.readyState !== WebSocket.OPEN || underWay) waiting = numbered;
      else post(numbered);
      return number;
    },
    /** Asks for a file; it does not disturb the run. */
    want(kind, at) {
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ id: number, want: kind, at }));
    },
  };
}
