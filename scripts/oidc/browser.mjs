// Signs somebody in with a real browser, approves the login of a command line, and tries what a page of another site could.
// Usage: node browser.mjs MODULES SERVER ADDRESS, where MODULES is the folder of install.sh and ADDRESS the one that
// `wardroom login` prints. It prints what it saw as one line of JSON. CHROMIUM names the browser.
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';

const [modules, server, address] = process.argv.slice(2);
const { chromium } = await import(pathToFileURL(resolve(modules, 'node_modules/playwright-core/index.mjs')));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
const seen = {};
try {
  const context = await browser.newContext({ bypassCSP: false });
  const page = await context.newPage();
  page.setDefaultTimeout(20000);
  const refused = [];
  page.on('console', (m) => m.type() === 'error' && refused.push(m.text()));

  // The page of the login sends to the provider, and comes back once somebody signed in there.
  await page.goto(address);
  await page.fill('input[name=login]', 'ann');
  await page.fill('input[name=password]', 'x');
  await page.click('button[type=submit]');
  await page.waitForSelector('button[type=submit]');
  await page.click('button[type=submit]');
  await page.waitForSelector('button[value=approve]');
  seen.question = await page.innerText('body');
  await page.click('button[value=approve]');
  await page.waitForURL(/^http:\/\/127\.0\.0\.1:\d+\/\?code=/).catch((e) => { throw new Error(`at ${page.url()}, refused ${refused}: ${e}`); });
  seen.answer = await page.innerText('body');
  seen.refused = refused.filter((text) => text.includes('Security Policy'));

  const cookie = (await context.cookies(server)).find((c) => c.name.startsWith('wardroom-session'));
  seen.cookie = { name: cookie.name.replace(/\d+$/, 'PORT'), httpOnly: cookie.httpOnly, sameSite: cookie.sameSite, secure: cookie.secure };

  // Another site. Its pages send what they can with the cookies of the browser.
  let form = '';
  const evil = createServer((request, answer) => {
    answer.setHeader('Content-Type', 'text/html');
    answer.end(request.url === '/form' ? form : 'evil');
  });
  await new Promise((listening) => evil.listen(0, '127.0.0.1', listening));
  const elsewhere = `http://localhost:${evil.address().port}`;
  const own = new URL(address).searchParams.get('code');
  form = `<form method="post" action="${server}/auth/cli/decide"><input name="code" value="${own}"><input name="decision" value="approve"><button>x</button></form>`;
  const attacker = await context.newPage();
  await attacker.goto(elsewhere + '/form');
  const posted = attacker.waitForResponse(`${server}/auth/cli/decide`);
  await attacker.click('button');
  seen.foreignForm = (await posted).status();
  await attacker.goto(elsewhere);
  seen.foreign = await attacker.evaluate(async (server) => {
    const result = {};
    for (const [name, path, options] of [
      ['read', '/api/session', {}], ['signOut', '/api/session', { method: 'DELETE' }], ['simple', '/api/patterns', { method: 'POST', body: '{}' }],
    ]) {
      result[name] = await fetch(server + path, { credentials: 'include', ...options }).then((r) => r.status, () => 'refused');
    }
    await fetch(server + '/auth/logout', { credentials: 'include', mode: 'no-cors' }).catch(() => {});
    await new Promise((loaded) => { const i = new Image(); i.onload = i.onerror = loaded; i.src = server + '/auth/logout'; });
    result.socket = await new Promise((over) => {
      const s = new WebSocket(server.replace('http', 'ws') + '/api/agents/connect');
      s.onopen = () => over('open'); s.onerror = () => over('refused');
    });
    return result;
  }, server);
  evil.close();

  // The site itself: its pages may, with the token of the session.
  const site = await browser.newContext({ bypassCSP: true, storageState: await context.storageState() });
  const home = await site.newPage();
  await home.goto(server + '/api/session');
  seen.session = JSON.parse(await home.innerText('body'));
  seen.own = await home.evaluate(async (token) => {
    const status = (options) => fetch('/api/session', { method: 'DELETE', ...options }).then((r) => r.status);
    const script = document.cookie;
    return { script, without: await status({}), with: await status({ headers: { 'X-CSRF-Token': token } }), after: await fetch('/api/session').then((r) => r.status) };
  }, seen.session.csrfToken);
} finally {
  await browser.close();
}
console.log(JSON.stringify(seen));
