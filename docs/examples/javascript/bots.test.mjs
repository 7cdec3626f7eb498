import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assistant, greeting, home, links, ticket } from './bots.mjs';
import { connect, startStandIn } from './standin.mjs';

const manifest = {
  display_information: { name: 'Helper' },
  features: {
    slash_commands: [{ command: '/ticket', description: 'Create a ticket' }],
    unfurl_domains: ['tickets.example'],
    assistant_view: { assistant_description: 'Answers questions' },
  },
  settings: {
    socket_mode_enabled: true,
    event_subscriptions: {
      bot_events: ['message.channels', 'message.im', 'app_home_opened', 'link_shared', 'assistant_thread_started'],
    },
  },
};
let slack, app;

before(async () => {
  slack = await startStandIn(manifest);
  app = connect(slack);
  for (const bot of [assistant, greeting, home, links, ticket]) bot(app);
  await app.start();
});

after(async () => {
  await app?.stop();
  slack?.stop();
});

test('a greeting is answered, and its button', async () => {
  const said = await slack.post('message', { user: 'ann', channel: 'sales', text: 'hello', wait: 5 });
  assert.match(said.answers[0].text, /^Hi <@U0ANN/);
  const clicked = await slack.post('click', { user: 'ben', channel: 'sales', element: 'Wave', wait: 5 });
  assert.equal(clicked.ack.ok, true);
  assert.match(clicked.answers[0].text, /waved$/);
});

test('a form reports its errors, then posts', async () => {
  const opened = await slack.post('command', { user: 'ann', channel: 'sales', text: '/ticket', wait: 5 });
  assert.equal(opened.view.title.text, 'New ticket');
  const short = await slack.post('view/submit', { user: 'ann', values: { title: 'Oops' } });
  assert.deepEqual(short.errors, { title: 'At least five characters' });
  await slack.post('view/submit', { user: 'ann', values: { title: 'Printer on fire' } });
  await slack.until('messages?channel=sales', ({ messages }) =>
    messages.find(({ text }) => text === 'Ticket: Printer on fire'),
  );
});

test('Home is published when it is opened', async () => {
  const { view } = await slack.post('home/open', { user: 'ann', wait: 5 });
  assert.match(view.blocks[0].text.text, /Welcome/);
});

test('a link to a ticket shows it', async () => {
  const text = 'See https://tickets.example/T-42';
  const { message } = await slack.post('message', { user: 'ann', channel: 'sales', text });
  const shown = await slack.until('messages?channel=sales', ({ messages }) =>
    messages.find(({ ts, attachments }) => ts === message.ts && attachments?.length),
  );
  assert.equal(shown.attachments[0].title, 'Ticket T-42');
});

test('the assistant answers in its thread', async () => {
  const opened = await slack.post('assistant/open', { user: 'ann', wait: 5 });
  assert.equal(opened.answers[0].text, 'How can I help?');
  const question = { user: 'ann', channel: 'dm', thread_ts: opened.thread_ts, text: 'Who is on call?' };
  const said = await slack.post('message', { ...question, wait: 5, answers: 2 }); // the thread's first message changes, too
  assert.equal(said.answers[1].text, 'You asked: Who is on call?');
});
