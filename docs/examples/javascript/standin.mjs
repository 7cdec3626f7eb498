// Starts the stand-in for a test file, and acts as people through its control API.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import bolt from '@slack/bolt';

export async function startStandIn(manifest) {
  const file = join(await mkdtemp(join(tmpdir(), 'manifest-')), 'manifest.json');
  await writeFile(file, JSON.stringify(manifest));
  const outreach = process.env.OUTREACH ?? 'outreach';
  const child = spawn(outreach, ['slack-standin', '--port', '0', '--manifest', file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface(child.stdout), 'line');
  const slack = JSON.parse(line);
  const post = async (act, body) => {
    const answer = await fetch(`${slack.slack_control_url}/${act}`, { method: 'POST', body: JSON.stringify(body) });
    const result = await answer.json();
    if (!result.ok) throw new Error(`${act}: ${result.error}`);
    return result;
  };
  // Asks a query until its answer has what is looked for.
  const until = async (what, find) => {
    for (const ends = Date.now() + 5000; Date.now() < ends; await setTimeout(50)) {
      const found = find(await (await fetch(`${slack.slack_control_url}/${what}`)).json());
      if (found) return found;
    }
    throw new Error(`not within 5 s: ${what}`);
  };
  return { ...slack, post, until, stop: () => child.kill() };
}

// A Bolt app that asks the stand-in instead of Slack.
export function connect(slack) {
  return new bolt.App({
    token: slack.slack_bot_token,
    appToken: slack.slack_app_token,
    socketMode: true,
    logLevel: bolt.LogLevel.ERROR,
    clientOptions: { slackApiUrl: slack.slack_api_url },
  });
}
