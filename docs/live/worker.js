// Runs Python for the page "Try it here", beside the page, so that it stays alive while Python works.
let python = null;

async function start(folder) {
  const { loadPyodide } = await import(`${folder}pyodide.mjs`);
  python = await loadPyodide({ indexURL: folder });
  postMessage({ state: "Loading NumPy …" });
  await python.loadPackage("numpy");
  postMessage({ state: "Loading tapec …" });
  const archive = await fetch("tapec.zip");
  if (!archive.ok) throw new Error(`tapec.zip: ${archive.status}`);
  python.unpackArchive(await archive.arrayBuffer(), "zip");
  python.runPython("from playground import answer");
  postMessage({ ready: true });
}

onmessage = async ({ data }) => {
  if (data.pyodide) {
    try {
      await start(data.pyodide);
    } catch (error) {
      postMessage({ failed: `Python could not be started: ${error.message}` });
    }
    return;
  }
  const answer = python.globals.get("answer"), before = performance.now();
  postMessage({ number: data.number, answer: answer(data.code), milliseconds: Math.round(performance.now() - before) });
};
