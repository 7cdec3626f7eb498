// Five bots of common kinds. Each adds its listeners to a Bolt app.
import bolt from '@slack/bolt';

export function greeting(app) {
  app.message('hello', async ({ message, say }) => {
    const button = { type: 'button', action_id: 'wave', text: { type: 'plain_text', text: 'Wave' } };
    await say({ text: `Hi <@${message.user}>`, blocks: [{ type: 'actions', elements: [button] }] });
  });
  app.action('wave', async ({ ack, body, respond }) => {
    await ack();
    await respond(`<@${body.user.id}> waved`);
  });
}

export function ticket(app) {
  app.command('/ticket', async ({ ack, body, client }) => {
    await ack();
    const input = { type: 'plain_text_input', action_id: 'title' };
    const block = { type: 'input', block_id: 'title', label: { type: 'plain_text', text: 'Title' }, element: input };
    await client.views.open({
      trigger_id: body.trigger_id,
      view: {
        type: 'modal',
        callback_id: 'ticket',
        private_metadata: body.channel_id,
        title: { type: 'plain_text', text: 'New ticket' },
        submit: { type: 'plain_text', text: 'Create' },
        blocks: [block],
      },
    });
  });
  app.view('ticket', async ({ ack, view, client }) => {
    const title = view.state.values.title.title.value;
    if (title.length < 5) {
      await ack({ response_action: 'errors', errors: { title: 'At least five characters' } });
      return;
    }
    await ack();
    await client.chat.postMessage({ channel: view.private_metadata, text: `Ticket: ${title}` });
  });
}

export function home(app) {
  app.event('app_home_opened', async ({ event, client }) => {
    const text = { type: 'mrkdwn', text: `Welcome, <@${event.user}>` };
    await client.views.publish({ user_id: event.user, view: { type: 'home', blocks: [{ type: 'section', text }] } });
  });
}

export function links(app) {
  app.event('link_shared', async ({ event, client }) => {
    const shown = event.links.map(({ url }) => [url, { title: `Ticket ${url.split('/').pop()}`, text: 'Open' }]);
    await client.chat.unfurl({
      unfurl_id: event.unfurl_id,
      source: event.source,
      unfurls: Object.fromEntries(shown),
    });
  });
}

export function assistant(app) {
  app.assistant(
    new bolt.Assistant({
      threadStarted: async ({ say, setSuggestedPrompts }) => {
        await say('How can I help?');
        await setSuggestedPrompts({ prompts: [{ title: 'Status', message: 'What is the status?' }] });
      },
      userMessage: async ({ message, say, setStatus, setTitle }) => {
        await setTitle(message.text);
        await setStatus('is thinking...');
        await say(`You asked: ${message.text}`);
      },
    }),
  );
}
