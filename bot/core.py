"""The parts on which everything else of the bot is built: database, service, Slack, and signals of changes."""

from __future__ import annotations

from bot.commands.context import CommandContexts
from bot.delivery import Outbox, Routes
from bot.runtime import DeliverySignals, Supervisor
from bot.slack.directory import UserDirectory
from bot.slack.messages import MessageSender
from bot.slack.web_api import WebApi


class Core:
    """Made once, by the application's builder; whoever needs several of these parts takes them from here."""

    def __init__(self, contexts: CommandContexts, slack: WebApi, supervisor: Supervisor) -> None:
        self.contexts, self.slack, self.supervisor = contexts, slack, supervisor
        self.settings, self.store, self.signals = contexts.settings, contexts.store, DeliverySignals()
        settings, store = self.settings, self.store
        rota = (person for rota in settings.routes.rotas.values() for person in rota.people)
        self.directory = UserDirectory(slack, groups=settings.roles.groups, rota=rota)
        self.routes = Routes(
            alert_channels={name: place.alert_channel for name, place in settings.workspaces.items()},
            routing=settings.routes,
            remind_after=settings.alerts.remind_after,
            people=self.directory,
        )
        self.outbox = Outbox(
            store,
            MessageSender(slack, timeout=store.posting.timings.patience),
            drawn=contexts.cards,
            routes=self.routes,
            directory=self.directory,
            planned=self.signals.changed,
        )
